/**
 * Shows on real clocks that the load generator tells a server's fault from its own:
 * `deno run -A tests/load/planted_faults.ts`. `run_test.ts` asserts the same in virtual time.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { answer } from "./fake_server.ts";

const EVERY_MILLIS = 5000, STALL_MILLIS = 500;
const PAUSE_MILLIS = 50;
const LOAD = ["--model", "toy", "--rate", "100", "--arrivals", "constant", "--warmup", "0"];

/** Answers at once, but nothing in the last 500 ms of every 5 s where it `stalls`. */
function serve(stalls: boolean): Deno.HttpServer<Deno.NetAddr> {
  const start = performance.now();
  const respond = async () => {
    const left = EVERY_MILLIS - (performance.now() - start) % EVERY_MILLIS;
    if (stalls && left <= STALL_MILLIS) await sleep(left);
    return new Response();
  };
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  return Deno.serve(options, (request) => answer(request, respond));
}

/** The load generator, as a process of its own. */
function generate(server: Deno.HttpServer<Deno.NetAddr>, ...flags: string[]): Deno.ChildProcess {
  const module = fileURLToPath(new URL("mod.ts", import.meta.url));
  const url = `http://127.0.0.1:${server.addr.port}`;
  const args = ["run", "--allow-all", module, "--url", url, ...LOAD, ...flags];
  return new Deno.Command(Deno.execPath(), { args, stdin: "null" }).spawn();
}

/** Takes the CPU from a process for half of the time, until it ends. */
async function starve(process: Deno.ChildProcess): Promise<void> {
  let ended = false;
  process.status.then(() => ended = true);
  await sleep(1000); // it has begun to send
  while (!ended) {
    for (const signal of ["SIGSTOP", "SIGCONT"] as const) {
      if (!ended) process.kill(signal);
      await sleep(PAUSE_MILLIS);
    }
  }
}

function sleep(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

if (import.meta.main) {
  console.log(`A server that stalls ${STALL_MILLIS} ms every ${EVERY_MILLIS / 1000} s:\n`);
  {
    await using server = serve(true);
    await generate(server, "--connections", "1", "--duration", "20").status;
  }
  console.log(
    `\nA generator that gets no CPU for ${PAUSE_MILLIS} ms of every ${2 * PAUSE_MILLIS}:\n`,
  );
  {
    await using server = serve(false);
    await starve(generate(server, "--duration", "10"));
  }
}
