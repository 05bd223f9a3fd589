/**
 * Builds of the software GPU under a sanitizer, and programs linked with them.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, BuildError } from "../../ffi/software_gpu/build.ts";
import { compiler } from "../fixtures/compiler.ts";

const SOAK = fileURLToPath(new URL(".", import.meta.url));
const BUILDS = fileURLToPath(new URL("../../ffi/software_gpu/build", import.meta.url));

/** What a sanitizer looks for, by the name of its build. */
export const SANITIZERS = {
  /** Memory that is used wrongly, and behaviour that C++ does not define. */
  address: ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
  /** Data that two threads touch at once. */
  thread: ["-fsanitize=thread", "-Wno-tsan"],
} as const;

/** One of them. */
export type Sanitizer = keyof typeof SANITIZERS;

/** -O3 would take minutes; frames make reports readable. */
const FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer"];

/**
 * Builds the library and a program of this folder with it.
 *
 * @param program Its name without `.cpp`.
 * @returns The program's path.
 * @throws {BuildError}
 */
export async function buildUnder(sanitizer: Sanitizer, program: string): Promise<string> {
  if (compiler === undefined) throw new BuildError("A C++ compiler is needed: g++ or clang++");
  const folder = join(BUILDS, sanitizer);
  const flags = [...FLAGS, ...SANITIZERS[sanitizer]];
  // What the programs call besides the C API is not exported otherwise.
  await build({ folder, extraFlags: [...flags, "-fvisibility=default"] });
  const path = join(folder, program);
  const args = [
    "-std=c++17",
    "-pthread",
    ...flags,
    join(SOAK, `${program}.cpp`),
    "-o",
    path,
    `-L${folder}`,
    "-lsoftware_gpu",
    `-Wl,-rpath,${folder}`,
  ];
  const { success, stderr } = await new Deno.Command(compiler, { args }).output();
  if (!success) throw new BuildError(new TextDecoder().decode(stderr));
  return path;
}

/**
 * Runs a program that {@linkcode buildUnder} has built.
 *
 * @returns What it printed.
 * @throws {Error} With the sanitizer's report, or what the program found wrong.
 */
export async function runProgram(
  path: string,
  args: readonly (string | number)[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(path, {
    args: args.map(String),
    env: { TSAN_OPTIONS: "halt_on_error=1", UBSAN_OPTIONS: "print_stacktrace=1" },
  }).output();
  if (success) return new TextDecoder().decode(stdout).trim();
  const report = new TextDecoder().decode(stderr).trim();
  throw new Error(`${path} ${args.join(" ")}\n${report}`);
}
