/** What is loaded and unloaded again and again leaves nothing behind. */
import assert from "node:assert/strict";
import { STARTERS } from "../../models/starter/starters.ts";
import { infer } from "../../server/commands/demo/client.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { GarbageCollector } from "./garbage_collector.ts";
import { addStarters } from "./starter_repository.ts";

const CYCLES = 50;
/**
 * By then everything has been used: code is compiled, threads have their stacks, and the C library's
 * heap has most of the gaps that it is going to have between what stays.
 */
const SETTLED = 10;
/** 4 to 6 % were seen, all fragmentation. A model that stayed would be far more. */
const GROWTH = 0.1;
const REMAINS = 60 * 2 ** 20;
const SAMPLES = 9;

Deno.test({
  name: `${CYCLES} times nine models come and go, and their memory with them (Linux)`,
  ignore: Deno.build.os !== "linux", // resident memory is read from /proc
  async fn() {
    await using repository = await repositoryWith({});
    await using gateway = GatewayProcess.debugged("--repository", repository.path);
    const url = await gateway.serving;
    using collector = await GarbageCollector.of(gateway.stderr);
    const before = await residentBytes(gateway.pid);
    await addStarters(repository.path);

    const [first, ...others] = STARTERS;
    let settled = 0, last = 0;
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      await Promise.all(STARTERS.map(({ name }) => change(url, name, "load")));
      await Promise.all(STARTERS.map(async ({ name, samples }) => {
        const outputs = await infer(url, name, samples[0]);
        assert.ok(outputs.length > 0);
      }));
      await Promise.all(others.map(({ name }) => change(url, name, "unload")));
      // Garbage is no leak; the last unload gives back what it took.
      await collector.run();
      await change(url, first.name, "unload");
      last = await residentBytes(gateway.pid);
      if (cycle === SETTLED) settled = last;
    }
    const found = `${mib(before)} MiB before, ${mib(settled)} after ${SETTLED} cycles, ${
      mib(last)
    } after ${CYCLES}`;
    assert.ok(last <= (1 + GROWTH) * settled, found);
    assert.ok(last - before <= REMAINS, found);
  },
});

async function change(server: string, model: string, what: "load" | "unload"): Promise<void> {
  const url = `${server}/v2/repository/models/${model}/${what}`;
  const response = await fetch(url, { method: "POST" });
  assert.equal(response.status, 200, await response.text());
}

/** Resident memory of a process: the median of some samples. */
async function residentBytes(pid: number): Promise<number> {
  const samples: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    const [, kibibytes] = /^VmRSS:\s*(\d+) kB$/m.exec(status) ?? assert.fail(status);
    samples.push(Number(kibibytes) * 1024);
  }
  return samples.sort((a, b) => a - b)[SAMPLES >> 1];
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
