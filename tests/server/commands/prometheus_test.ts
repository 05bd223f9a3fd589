import assert from "node:assert/strict";
import { parseMetrics, quantile } from "../../../server/commands/prometheus.ts";

Deno.test("parseMetrics() reads names, labels and values", () => {
  const samples = parseMetrics(
    [
      "# HELP waiting Requests",
      "# TYPE waiting gauge",
      'waiting{model="a",version="1"} 3',
      'waiting{model="q\\"uo\\\\te",version="2",} +Inf 1700000000',
      "",
      "up 1e0",
      "not a sample",
    ].join("\n"),
  );
  assert.deepEqual(samples.get("waiting"), [
    { labels: { model: "a", version: "1" }, value: 3 },
    { labels: { model: 'q"uo\\te', version: "2" }, value: Infinity },
  ]);
  assert.deepEqual(samples.get("up"), [{ labels: {}, value: 1 }]);
});

const buckets = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([le, value]) => ({ labels: { le }, value }));

Deno.test("quantile() interpolates inside the bucket", () => {
  const histogram = buckets({ "0.1": 50, "0.2": 90, "+Inf": 100 });
  assert.equal(quantile(histogram, 0.25), 0.05);
  assert.equal(quantile(histogram, 0.5), 0.1);
  assert.ok(Math.abs(quantile(histogram, 0.7)! - 0.15) < 1e-12);
});

Deno.test("quantile() gives the last bound for what lies beyond it", () => {
  assert.equal(quantile(buckets({ "+Inf": 100, "0.1": 50 }), 0.99), 0.1);
});

Deno.test("quantile() is undefined when nothing was counted", () => {
  assert.equal(quantile(buckets({ "0.1": 0, "+Inf": 0 }), 0.5), undefined);
  assert.equal(quantile([], 0.5), undefined);
});
