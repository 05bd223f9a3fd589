/**
 * Compiles the software GPU: what changed since the last time, with nothing but a C++ compiler.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL(".", import.meta.url));

const FLAGS = [
  "-std=c++17",
  "-O3",
  "-march=native",
  "-ffp-contract=off",
  "-fno-math-errno",
  "-fno-trapping-math",
  "-fno-strict-aliasing",
  "-fPIC",
  "-fvisibility=hidden",
  "-pthread",
  "-Wall",
  "-Wextra",
];

/** Threads of streams outlive a `dlclose`, so the library stays. */
const LINK_FLAGS = ["-shared", "-pthread", "-Wl,-z,nodelete", "-ldl"];

/** What a build may be told. */
export interface BuildOptions {
  /** Where objects and the library go. */
  readonly folder?: string;
  /** For the compiler and the linker, such as `-fsanitize=thread`. */
  readonly extraFlags?: readonly string[];
  /** Compilers that run at once. */
  readonly jobs?: number;
}

/** There is no C++ compiler, or it refused a file. */
export class BuildError extends Error {
  /** Tells it from other errors. */
  override readonly name = "BuildError";
}

/** As systems call their C++ compiler, be it g++ or clang++. */
const COMPILER = "c++";

/** The command that the library can be built with here; undefined where there is none. */
export async function findCompiler(): Promise<string | undefined> {
  try {
    const { success } = await new Deno.Command(COMPILER, {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success ? COMPILER : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The newest major version of cuda.h whose layouts the driver was written against. */
const HEADER_VERSION = /^#define CUDA_VERSION (13\d{3})$/m;

/** Flags for NVIDIA's own header, where `CUDA_HOME` has one of the right version. */
async function headerFlags(): Promise<string[]> {
  const home = Deno.env.get("CUDA_HOME");
  if (!home) return [];
  for (const folder of [join(home, "include"), home]) {
    try {
      const header = await Deno.readTextFile(join(folder, "cuda.h"));
      if (HEADER_VERSION.test(header)) return ["-DSOFTWARE_GPU_VENDOR_HEADER", `-I${folder}`];
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return [];
}

async function* sourcesBelow(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory && entry.name !== "build") yield* sourcesBelow(path);
    else if (entry.name.endsWith(".cpp")) yield path;
  }
}

async function modified(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).mtime?.getTime() ?? 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return -1;
    throw error;
  }
}

/** Files that a compiler's `.d` file names: the source and every header that it includes. */
async function dependencies(path: string): Promise<string[] | undefined> {
  try {
    const text = await Deno.readTextFile(path);
    return text.slice(text.indexOf(":") + 1).replaceAll("\\\n", " ").split(/\s+/).filter(Boolean);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function isStale(object: string): Promise<boolean> {
  const built = await modified(object);
  const inputs = await dependencies(object.replace(/\.o$/, ".d"));
  if (built < 0 || inputs === undefined) return true;
  for (const input of inputs) {
    const changed = await modified(input);
    if (changed < 0 || changed > built) return true;
  }
  return false;
}

async function runCompiler(compiler: string, args: readonly string[], of: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(compiler, {
    args: [...args],
    stdout: "null",
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success) throw new BuildError(`${compiler} refused ${of}:\n${said}`);
  if (said) console.error(said.trimEnd());
}

/**
 * Builds what is stale.
 * @returns The library's path.
 * @throws {BuildError}
 */
export async function build(options: BuildOptions = {}): Promise<string> {
  const compiler = await findCompiler();
  if (!compiler) {
    throw new BuildError(
      "The software GPU needs a C++ compiler, g++ or clang++, as c++ on the PATH",
    );
  }
  const folder = options.folder ?? join(ROOT, "build");
  const library = join(folder, "libsoftware_gpu.so");
  const flags = [...FLAGS, ...await headerFlags(), ...options.extraFlags ?? []];
  await Deno.mkdir(folder, { recursive: true });
  // Two builds at once would write the same objects.
  using lock = await Deno.open(join(folder, "lock"), { create: true, write: true });
  await lock.lock(true);

  // Objects of other flags or of another compiler are of no use.
  const stamp = join(folder, "flags");
  const command = [compiler, ...flags].join(" ");
  const before = await Deno.readTextFile(stamp).catch(() => "");
  const all = (await Array.fromAsync(sourcesBelow(ROOT))).sort();
  const objectOf = (source: string) =>
    join(folder, relative(ROOT, source).replaceAll("/", "-").replace(/\.cpp$/, ".o"));
  const stale: string[] = [];
  for (const source of all) {
    if (before !== command || await isStale(objectOf(source))) stale.push(source);
  }
  await Deno.writeTextFile(stamp, command);
  if (before !== command) {
    // A build that breaks off half-way must not leave old objects that look new.
    await Promise.all(stale.map((source) => Deno.remove(objectOf(source)).catch(() => {})));
  }

  const compileNext = async () => {
    for (let source = stale.shift(); source; source = stale.shift()) {
      const object = objectOf(source);
      await runCompiler(compiler, [...flags, "-MMD", "-c", source, "-o", object], source);
    }
  };
  const relink = stale.length > 0;
  const jobs = options.jobs ?? Math.max(1, navigator.hardwareConcurrency);
  await Promise.all(Array.from({ length: jobs }, compileNext));

  // Sources that are gone leave objects: the list of inputs decides, not the folder.
  const inputs = all.map(objectOf);
  const linked = join(folder, "inputs");
  const sameInputs = await Deno.readTextFile(linked).catch(() => "") === inputs.join("\n");
  if (relink || !sameInputs || await modified(library) < 0) {
    // Beside it and renamed: a process that has the old one loaded keeps it whole.
    const fresh = `${library}.${Deno.pid}`;
    const link = [...inputs, "-o", fresh, ...LINK_FLAGS, ...options.extraFlags ?? []];
    await runCompiler(compiler, link, relative(dirname(folder), library));
    await Deno.rename(fresh, library);
    await Deno.writeTextFile(linked, inputs.join("\n"));
  }
  return library;
}
