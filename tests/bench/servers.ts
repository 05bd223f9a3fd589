/**
 * The servers that are compared: Sluice as its task starts it, and the two plain ones.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { stripTypeScriptTypes } from "node:module";
import { BENCH_OUT } from "./models.ts";
import { processTree } from "./process_tree.ts";

/** A server's short name. */
export type ServerName = "sluice" | "deno" | "fastify";

/** All servers, in the order in which they take turns. */
export const SERVER_NAMES: readonly ServerName[] = ["sluice", "deno", "fastify"];

/** Names as the tables show them. */
export const SERVER_TITLES: Readonly<Record<ServerName, string>> = {
  sluice: "Sluice",
  deno: "plain Deno.serve",
  fastify: "plain fastify",
};

/** A running server. */
export interface Server extends AsyncDisposable {
  /** Which one it is. */
  readonly name: ServerName;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Root of the process tree that serves. */
  readonly pid: number;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PLAIN = join(ROOT, "tests/bench/plain");
const START_SECONDS = 60;

/**
 * Starts a server over a repository and waits until it is ready.
 *
 * @param flags Of Sluice's own; the plain ones have none.
 */
export async function startServer(
  name: ServerName,
  repository: string,
  ...flags: readonly string[]
): Promise<Server> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const common = ["--repository", repository, "--port", `${port}`, ...flags];
  const [command, args] = await COMMANDS[name](common);
  const logPath = join(BENCH_OUT, `${name}.log`);
  const child = spawn(command, args);
  const log = Deno.openSync(logPath, { create: true, write: true, truncate: true });
  const logged = copyOutput(child, log);
  let ended = false;
  child.status.then(() => ended = true);
  const stop = async () => {
    if (!ended) child.kill("SIGTERM"); // `deno task` passes it on
    await child.status;
    await logged;
  };
  if (!await becomesReady(url, () => ended)) {
    const fate = ended ? "ended" : `was not ready within ${START_SECONDS} s`;
    await stop();
    throw new Error(`${SERVER_TITLES[name]} ${fate}; what it said is in ${logPath}`);
  }
  return {
    name,
    url,
    // `deno task` is a shell that waits for what it started: not a part of the server.
    pid: name === "sluice" ? processTree(child.pid)[1] : child.pid,
    [Symbol.asyncDispose]: stop,
  };
}

type Launch = readonly [command: string, args: readonly string[]];

const COMMANDS: Readonly<Record<ServerName, (common: string[]) => Launch | Promise<Launch>>> = {
  sluice: (common) => [Deno.execPath(), ["task", "start", ...common]],
  deno: (common) => [
    Deno.execPath(),
    ["run", "--allow-all", join(PLAIN, "deno_server.ts"), ...common],
  ],
  fastify: async (common) => ["node", [await writeForNode("fastify_server", "v2"), ...common]],
};

/** Strips the types, for Nodes that run no TypeScript. Gives the path of the first file. */
async function writeForNode(...names: readonly string[]): Promise<string> {
  const folder = join(BENCH_OUT, "plain");
  await Deno.mkdir(folder, { recursive: true });
  for (const name of names) {
    const source = await Deno.readTextFile(join(PLAIN, `${name}.ts`));
    const code = stripTypeScriptTypes(source).replaceAll(/(from "\.\/\w+)\.ts"/g, '$1.mjs"');
    await Deno.writeTextFile(join(folder, `${name}.mjs`), code);
  }
  return join(folder, `${names[0]}.mjs`);
}

function spawn(command: string, args: readonly string[]): Deno.ChildProcess {
  try {
    return new Deno.Command(command, {
      args: [...args],
      cwd: ROOT,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(`${command} is not on PATH, and one of the plain servers runs on it`);
  }
}

async function copyOutput(child: Deno.ChildProcess, log: Deno.FsFile): Promise<void> {
  using file = log;
  const streams = [child.stdout, child.stderr].map(async (stream) => {
    for await (const chunk of stream) file.writeSync(chunk);
  });
  await Promise.all(streams);
}

async function becomesReady(url: string, ended: () => boolean): Promise<boolean> {
  const giveUp = performance.now() + START_SECONDS * 1000;
  while (performance.now() < giveUp && !ended()) {
    const response = await fetch(`${url}/v2/health/ready`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
