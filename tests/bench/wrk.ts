/**
 * wrk as the client: a closed loop with one fixed request, far cheaper than any server here.
 *
 * @see https://github.com/wg/wrk
 * @module
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { RequestFile } from "./models.ts";
import { cpuSeconds, endedChildrenSeconds, machineBusySeconds } from "./process_tree.ts";

const SCRIPT = fileURLToPath(new URL("./post.lua", import.meta.url));

/** What to send, where to, how long. */
export interface WrkOptions {
  /** Where to post. */
  readonly url: string;
  /** What to post, every time. */
  readonly request: RequestFile;
  /** Requests in flight: each connection sends its next when it has the answer to its last. */
  readonly connections: number;
  /** How long. */
  readonly seconds: number;
}

/** What the client saw. */
export interface WrkRun {
  /** Answers that came within the time. */
  readonly requests: number;
  /** Those per second. */
  readonly perSecond: number;
  /** Half of the answers took no longer. */
  readonly p50Millis: number;
  /** All but one in a hundred took no longer. */
  readonly p99Millis: number;
}

/** What a run cost besides. */
export interface CostedRun extends WrkRun {
  /** Server's user and system seconds per 1000 requests answered. */
  readonly serverCpu: number;
  /** The same of wrk. */
  readonly clientCpu: number;
  /** Share of all cores that neither server nor wrk used. */
  readonly otherLoad: number;
}

const Summary = z.object({
  requests: z.number(),
  micros: z.number(),
  p50: z.number(),
  p99: z.number(),
  refused: z.number(),
  broken: z.number(),
});

/** Throws with advice when wrk is not installed. */
export async function requireWrk(): Promise<void> {
  try {
    await new Deno.Command("wrk", { args: ["-v"], stdout: "null", stderr: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error("wrk is not on PATH; install it first, on Debian: apt-get install wrk");
  }
}

/** One run. Throws when any request failed: figures of a server that refuses mean nothing. */
export async function runWrk(options: WrkOptions): Promise<WrkRun> {
  const { url, request, connections, seconds } = options;
  const headers = Object.entries(request.headers).flatMap(([name, value]) => [
    "--header",
    `${name}: ${value}`,
  ]);
  const args = [
    ...["--threads", "1", "--connections", `${connections}`, "--duration", `${seconds}s`],
    ...["--timeout", "60s", "--script", SCRIPT, ...headers, url, "--", request.path],
  ];
  const { stdout, stderr } = await new Deno.Command("wrk", { args }).output();

  const text = new TextDecoder();
  const line = text.decode(stdout).split("\n").find((line) => line.startsWith("{"));
  if (line === undefined) {
    throw new Error(`wrk gave no summary: ${text.decode(stdout)}${text.decode(stderr)}`);
  }
  const summary = Summary.parse(JSON.parse(line));
  if (summary.requests === 0) {
    throw new Error(`${url} answered no request within ${seconds} s, try longer --seconds`);
  }
  if (summary.refused + summary.broken > 0) {
    throw new Error(
      `${url} failed under ${connections} connections: ${summary.refused} answers were errors, ` +
        `${summary.broken} connections broke, of ${summary.requests} requests`,
    );
  }
  return {
    requests: summary.requests,
    perSecond: summary.requests / (summary.micros / 1e6),
    p50Millis: summary.p50 / 1000,
    p99Millis: summary.p99 / 1000,
  };
}

/** One run against the server whose process tree starts at `pid`, with what it cost. */
export async function runCosted(pid: number, options: WrkOptions): Promise<CostedRun> {
  const started = performance.now();
  const before = readClocks(pid);
  const run = await runWrk(options);
  const after = readClocks(pid);
  const elapsed = (performance.now() - started) / 1000;
  const server = after.server - before.server;
  const client = after.client - before.client;
  const other = after.machine - before.machine - server - client;
  return {
    ...run,
    serverCpu: server / run.requests * 1000,
    clientCpu: client / run.requests * 1000,
    otherLoad: Math.max(0, other / elapsed / navigator.hardwareConcurrency),
  };
}

function readClocks(pid: number) {
  return {
    server: cpuSeconds(pid),
    client: endedChildrenSeconds(),
    machine: machineBusySeconds(),
  };
}
