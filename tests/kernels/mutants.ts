/**
 * PTX with one thing wrong: what a suite has to notice.
 *
 * @module
 */

/** A text that differs from a good one in one place. */
export interface Mutant {
  /** Which kernel is changed, and how; the same for as long as the kernel's instructions are. */
  readonly name: string;
  /** The changed PTX. */
  readonly ptx: string;
}

/** What to do to one instruction. */
interface Change {
  /** In words, after the instruction's opcode. */
  readonly what: string;
  /** The instruction to put there; empty to leave it out. */
  readonly becomes: string;
}

/** Ways to spoil an instruction. All are tried on each; those that do not concern it give nothing. */
const MUTATIONS: readonly ((
  instruction: string,
  shared: ReadonlySet<string>,
) => Iterable<Change>)[] = [
  barriers,
  shuffles,
  asynchronousCopies,
  sharedOffsets,
  sharedAddresses,
];

/**
 * Every mutant of a module: each barrier left out, each shuffle with another offset, mode or mask,
 * each wait for copies and each end of a group of them left out or weakened, each access of shared
 * memory one element further, each address of a shared variable 16 bytes further.
 */
export function mutantsOf(ptx: string): Mutant[] {
  const mutants: Mutant[] = [];
  const lines = ptx.split("\n");
  const seen = new Map<string, number>();
  const shared = new Set(
    Array.from(ptx.matchAll(/^\s*(?:\.extern )?\.shared .* (\w+)\[/gm), ([, name]) => name),
  );
  let kernel = "";
  lines.forEach((line, index) => {
    kernel = line.match(/\.entry (\w+)\(/)?.[1] ?? kernel;
    const [, guard = "", instruction] = line.match(/^\s*(@!?%p\d+\s+)?([a-z][^;]*;)/) ?? [];
    if (instruction === undefined) return;
    const opcode = instruction.match(/^\S+?(?=;|\s)/)![0];
    const key = `${kernel}: ${opcode}`;
    const ordinal = (seen.get(key) ?? 0) + 1;
    seen.set(key, ordinal);
    for (const mutation of MUTATIONS) {
      for (const { what, becomes } of mutation(instruction, shared)) {
        const changed = lines.with(index, becomes === "" ? "" : `\t${guard}${becomes}`);
        mutants.push({ name: `${key} ${ordinal} ${what}`, ptx: changed.join("\n") });
      }
    }
  });
  return mutants;
}

function* barriers(instruction: string): Iterable<Change> {
  if (/^(bar|barrier)\./.test(instruction)) yield { what: "left out", becomes: "" };
}

/** `shfl.sync.mode.b32 d|p, a, offset, clamp, mask;` */
function* shuffles(instruction: string): Iterable<Change> {
  const parts = instruction.match(/^shfl\.sync\.(\w+)\.b32\s+(.*), (\S+), (\S+), (\S+);$/);
  if (parts === null) return;
  const [, mode, operands, offset, clamp, mask] = parts;
  const other = mode === "bfly" ? "down" : "bfly";
  const shuffle = (mode: string, offset: string, mask: string) =>
    `shfl.sync.${mode}.b32 ${operands}, ${offset}, ${clamp}, ${mask};`;
  yield { what: `in mode ${other}`, becomes: shuffle(other, offset, mask) };
  yield { what: "with offset 0", becomes: shuffle(mode, "0", mask) };
  yield { what: "without lane 31", becomes: shuffle(mode, offset, "0x7fffffff") };
}

function* asynchronousCopies(instruction: string): Iterable<Change> {
  if (/^cp\.async\.(wait_all|wait_group|commit_group)\b/.test(instruction)) {
    yield { what: "left out", becomes: "" };
  }
  const group = instruction.match(/^cp\.async\.wait_group\s+(\d+);$/);
  if (group !== null) {
    const one = Number(group[1]) + 1;
    yield { what: `for ${one} pending`, becomes: `cp.async.wait_group ${one};` };
  }
}

/** The address is the first thing in brackets; of a `cp.async` that is the target. */
function* sharedOffsets(instruction: string): Iterable<Change> {
  const opcode = instruction.match(/^((ld|st|atom|red)\.\S*shared\S*|cp\.async\.c[ag]\S*)\s/);
  if (opcode === null) return;
  const vector = Number(instruction.match(/\.v(\d)\./)?.[1] ?? 1);
  const width = instruction.startsWith("cp.async")
    ? Number(instruction.match(/\], (\d+)/)![1])
    : Number(instruction.match(/\.[a-z](\d+)\s/)![1]) / 8 * vector;
  const becomes = instruction.replace(
    /\[([^\]+]+)(?:\+(-?\d+))?\]/,
    (_, base, offset = "0") => `[${base}+${Number(offset) + width}]`,
  );
  yield { what: `${width} bytes further`, becomes };
}

function* sharedAddresses(instruction: string, shared: ReadonlySet<string>): Iterable<Change> {
  const [, start, symbol] = instruction.match(/^(mov\.\w+\s+%\w+, )(\w+);$/) ?? [];
  if (shared.has(symbol)) yield { what: "16 bytes further", becomes: `${start}${symbol}+16;` };
}
