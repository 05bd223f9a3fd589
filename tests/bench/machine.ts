/**
 * The machine and the versions that figures belong to.
 *
 * @module
 */
import onnxRuntime from "onnxruntime-node/package.json" with { type: "json" };

/** What to print above every table. */
export async function machine(): Promise<Record<string, string | number>> {
  const model = /^model name\s*: (.*)$/m.exec(await Deno.readTextFile("/proc/cpuinfo"))?.[1];
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: model ?? Deno.build.arch,
    cores: navigator.hardwareConcurrency,
    deno: Deno.version.deno,
    node: await output("node", "--version"),
    "onnxruntime-node": onnxRuntime.version,
  };
}

async function output(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(command, { args }).output();
  return new TextDecoder().decode(stdout).trim();
}
