import assert from "node:assert/strict";
import { madeUpReport } from "./made_up_report.ts";
import { intervalSeconds } from "./recorder.ts";
import { jainIndex } from "./report.ts";

Deno.test("makeReport() counts goodput, attainment and errors of all that was sent", () => {
  const [fast, slow] = madeUpReport([
    { name: "fast", outcomes: ["ok", "ok", "queue_full", "timeout"], millis: 10 },
    { name: "slow", outcomes: ["ok", "ok"], millis: 60 },
  ]).models;
  assert.equal(fast.rate, 0.4);
  assert.equal(fast.throughput, 0.2);
  assert.equal(fast.goodput, 0.2);
  assert.equal(fast.attainment, 0.5);
  assert.equal(fast.errors, 0.5);
  assert.equal(fast.outcomes.queue_full, 1);
  assert.equal(slow.throughput, 0.2);
  assert.equal(slow.goodput, 0);
});

Deno.test("makeReport() divides what was answered by the time that it took", () => {
  const [{ rate, throughput }] = madeUpReport([
    { name: "a", outcomes: ["ok", "ok"], millis: 19_990 },
  ]).models;
  assert.equal(rate, 0.2);
  assert.equal(throughput, 0.1);
});

Deno.test("makeReport() keeps refusals out of the latencies, and lag out of the actual one", () => {
  const [{ intended, actual, lag }] = madeUpReport([
    { name: "a", outcomes: ["ok", "queue_full"], millis: 10, lagMillis: 2 },
  ]).models;
  assert.deepEqual([intended.count, actual.count, lag.count], [1, 1, 2]);
  assert.deepEqual([intended.max, actual.max, lag.max].map(Math.round), [12, 10, 2]);
});

Deno.test("makeReport() judges a lag by the latency beside it", () => {
  const verdict = (millis: number, lagMillis: number) =>
    madeUpReport([{ name: "a", outcomes: ["ok"], millis, lagMillis }]).verdict.valid;
  assert.equal(verdict(10, 5), true);
  assert.equal(verdict(10, 6), false);
  assert.equal(verdict(100, 9), true);
  assert.equal(verdict(100, 11), false);
});

Deno.test("makeReport() judges a lag of text by its first token", () => {
  const verdict = (tokensAtMillis: number[]) =>
    madeUpReport([{ name: "a", outcomes: ["ok"], millis: 900, lagMillis: 20, tokensAtMillis }])
      .verdict.valid;
  assert.equal(verdict([300]), true);
  assert.equal(verdict([100]), false);
});

Deno.test("makeReport() judges an event loop that was late, though nothing was sent late", () => {
  const verdict = (millis: number, loopLagMillis: number) =>
    madeUpReport([{ name: "a", outcomes: ["ok"], millis }], { loopLagMillis }).verdict;
  assert.deepEqual(verdict(10, 20).reasons, [
    "a: the generator was busy for 20.0 ms at p99; at most 5.0 ms leaves the latencies usable",
  ]);
  assert.equal(verdict(300, 20).valid, true);
});

Deno.test("makeReport() puts requests into parts of the run by when they were to be sent", () => {
  const outcomes = Array.from({ length: 150 }, () => "ok" as const);
  const [{ intervals }] = madeUpReport([{ name: "a", outcomes, millis: 600 }]).models;
  assert.deepEqual(intervals.map(({ fromSeconds, sent }) => [fromSeconds, sent]), [
    [0, 100],
    [1, 50],
  ]);
});

Deno.test("jainIndex() is 1 for equal shares and 1/n for one that has all", () => {
  assert.equal(jainIndex([3, 3, 3]), 1);
  assert.equal(jainIndex([5, 0, 0, 0]), 0.25);
  assert.equal(jainIndex([0, 0]), 1);
});

Deno.test("intervalSeconds() gives at most 60 parts", () => {
  assert.equal(intervalSeconds(3), 0.1);
  assert.equal(intervalSeconds(60), 1);
  assert.equal(intervalSeconds(1e6), 1e6 / 60);
});
