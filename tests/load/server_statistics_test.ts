import assert from "node:assert/strict";
import { difference, readCounters } from "./server_statistics.ts";
import { Target } from "./target.ts";

const row = (name: string, version: string, n: number) => ({
  name,
  version,
  batch_stats: [
    { batch_size: 1, compute_infer: { count: n, ns: 0 } },
    { batch_size: 5, compute_infer: { count: n, ns: 0 } },
  ],
  inference_stats: {
    success: { count: 3 * n, ns: 0 },
    queue: { count: 3 * n, ns: 6e6 * n },
    compute_infer: { count: 3 * n, ns: 9e6 * n },
  },
});

const counters = (answer: () => Response) =>
  readCounters(new Target("http://server", () => Promise.resolve(answer())));

Deno.test("difference() gives means over a run, all versions of a model together", async () => {
  const before = await counters(() => Response.json({ model_stats: [row("a", "1", 5)] }));
  const after = await counters(() =>
    Response.json({ model_stats: [row("a", "1", 7), row("a", "2", 1)] })
  );
  assert.deepEqual(difference(before?.get("a"), after?.get("a")), {
    requests: 9,
    queueMs: 2,
    computeMs: 3,
    batch: 3,
  });
});

Deno.test("difference() gives nothing where nothing ran or the server began anew", async () => {
  const report = (n: number) =>
    counters(() => Response.json({ model_stats: [row("a", "1", n)] })).then((c) => c!.get("a"));
  assert.equal(difference(await report(2), await report(2)), undefined);
  assert.equal(difference(await report(2), await report(1)), undefined);
  assert.equal(difference(undefined, await report(1)), undefined);
});

Deno.test("readCounters() gives nothing where the server has no statistics", async () => {
  assert.equal(await counters(() => new Response("no", { status: 404 })), undefined);
});
