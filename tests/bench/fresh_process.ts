/**
 * Calls a function in a process of its own. ONNX Runtime allows one environment per process, with
 * one number of threads, so whatever uses it here starts afresh.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";

/** What can be called, loaded only where it is called. */
const CALLS = {
  bareRate: async () => (await import("./bare_loop.ts")).bareRate,
  engineRates: async () => (await import("./engine_loop.ts")).engineRates,
  schedulerFigures: async () => (await import("./scheduler_loop.ts")).schedulerFigures,
  switchGaps: async () => (await import("./switch_loop.ts")).switchGaps,
  cudaFigures: async () => (await import("./cuda_loop.ts")).cudaFigures,
  productRate: async () => (await import("./cuda_loop.ts")).productRate,
  plainAnswer: async () => (await import("./plain_answer.ts")).plainAnswer,
};

type Calls = { [Name in keyof typeof CALLS]: Awaited<ReturnType<(typeof CALLS)[Name]>> };

/** What the calls return, by name. */
export type Results = { [Name in keyof Calls]: Awaited<ReturnType<Calls[Name]>> };
/** What the calls take, by name. */
export type Arguments = { [Name in keyof Calls]: Parameters<Calls[Name]> };

/** Calls `name`; arguments and result cross as structured clones. Throws what it prints when it fails. */
export async function callAfresh<Name extends keyof Calls>(
  name: Name,
  ...args: Arguments[Name]
): Promise<Results[Name]> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", fileURLToPath(import.meta.url), name],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(serialize(args));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  if (!success) throw new Error(`${name}: ${new TextDecoder().decode(stderr).trim()}`);
  return deserialize(stdout);
}

if (import.meta.main) {
  const call = await CALLS[Deno.args[0] as keyof Calls]() as (...args: unknown[]) => unknown;
  const args: unknown[] = deserialize(await new Response(Deno.stdin.readable).bytes());
  const result = await call(...args);
  let rest: Uint8Array = serialize(result);
  while (rest.length > 0) rest = rest.subarray(await Deno.stdout.write(rest));
}
