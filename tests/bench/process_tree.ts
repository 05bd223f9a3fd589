/**
 * What a server costs, read from Linux's `/proc`: processor time and memory of its process tree.
 *
 * @see https://man7.org/linux/man-pages/man5/proc.5.html
 * @module
 */

/** `/proc` counts in ticks; Linux fixes what it shows user space at 100 a second. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parent: number;
  /** User and system time of the process, in ticks. */
  readonly own: number;
  /** The same of its children that have ended and been waited for. */
  readonly reaped: number;
}

function readStat(pid: number | "self"): Stat | undefined {
  let text: string;
  try {
    text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  } catch {
    return undefined; // ended meanwhile
  }
  // The name in parentheses may contain spaces; what follows it does not.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
  return { parent: fields[1], own: fields[11] + fields[12], reaped: fields[13] + fields[14] };
}

/** `root` and all its living descendants, by process id. */
export function processTree(root: number): number[] {
  return [...statTree(root).keys()];
}

function statTree(root: number): Map<number, Stat> {
  const stats = new Map<number, Stat>();
  for (const { name } of Deno.readDirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat) stats.set(Number(name), stat);
  }
  const tree = new Map<number, Stat>();
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const stat = stats.get(pid);
    if (stat === undefined) continue;
    tree.set(pid, stat);
    for (const [child, { parent }] of stats) if (parent === pid) pending.push(child);
  }
  return tree;
}

/** User and system seconds that the tree below `root` has used. Throws when it is gone. */
export function cpuSeconds(root: number): number {
  const tree = statTree(root);
  if (tree.size === 0) throw new Error(`Process ${root} has ended, expected a running server`);
  let ticks = 0;
  for (const { own, reaped } of tree.values()) ticks += own + reaped;
  return ticks / TICKS_PER_SECOND;
}

/** User and system seconds of this process's children that have ended. */
export function endedChildrenSeconds(): number {
  return readStat("self")!.reaped / TICKS_PER_SECOND;
}

/** Seconds that all cores together have been busy since boot. */
export function machineBusySeconds(): number {
  const [user, nice, system, , , irq, softirq, steal] = Deno.readTextFileSync("/proc/stat")
    .split("\n", 1)[0].split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

/** Resident bytes of one process, cheap enough to be asked for beside a load. */
export function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s*(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))!;
  return Number(kilobytes) * 1024;
}

/** Memory of a process tree, bytes. */
export interface TreeMemory {
  /** Living processes of the tree. */
  readonly processes: number;
  /** Resident pages, shared ones in full. */
  readonly rssBytes: number;
  /** Shared pages are divided among the processes that map them, see {@linkcode treeMemory}. */
  readonly pssBytes: number;
}

/**
 * Memory of the tree below `root`. Pages of Deno's executable count in full: this process maps them
 * too, and must not make a server look small by sharing with it.
 */
export function treeMemory(root: number): TreeMemory {
  const pids = processTree(root);
  const executable = Deno.realPathSync(Deno.execPath());
  let rss = 0;
  let pss = 0;
  for (const pid of pids) {
    for (const mapping of mappings(pid)) {
      rss += mapping.rss;
      pss += mapping.file === executable ? mapping.rss : mapping.pss;
    }
  }
  return { processes: pids.length, rssBytes: rss * 1024, pssBytes: pss * 1024 };
}

interface Mapping {
  readonly file: string;
  readonly rss: number;
  readonly pss: number;
}

function* mappings(pid: number): Generator<Mapping> {
  const entry =
    /^[\da-f]+-[\da-f]+ \S+ \S+ \S+ \S+ *(.*)\n(?:[^\n]*\n)*?Rss: +(\d+) kB\nPss: +(\d+) kB/gm;
  for (const [, file, rss, pss] of Deno.readTextFileSync(`/proc/${pid}/smaps`).matchAll(entry)) {
    yield { file, rss: Number(rss), pss: Number(pss) };
  }
}
