import assert from "node:assert/strict";
import type { Objectives } from "./scenario.ts";
import { TokenRecorder } from "./token_recorder.ts";

/** A request sent 10 ms late, whose tokens come at these milliseconds. */
const sample = (...millis: readonly number[]) => ({
  model: 0,
  intendedMicros: 0,
  readyMicros: 0,
  sentMicros: 10_000,
  endMicros: 500_000,
  outcome: "ok" as const,
  tokens: { atMicros: millis.map((at) => at * 1000), count: millis.length },
});
const meets = (objectives: Objectives, ...millis: readonly number[]) =>
  new TokenRecorder(objectives).add(sample(...millis));

Deno.test("TokenRecorder measures the first token from both sends, and every gap", () => {
  const recorder = new TokenRecorder({});
  recorder.add(sample(50, 60, 90));
  recorder.add(sample(70, 75));
  const { count, ttft, actualTtft, tbt } = recorder.measurements();
  assert.equal(count, 5);
  assert.deepEqual([ttft.count, ttft.mean, ttft.max].map(Math.round), [2, 60, 70]);
  assert.deepEqual([actualTtft.mean, actualTtft.max].map(Math.round), [50, 60]);
  assert.deepEqual([tbt.count, tbt.mean, tbt.max].map(Math.round), [3, 15, 30]);
});

Deno.test("TokenRecorder takes the end for the first token where no text came", () => {
  const recorder = new TokenRecorder({ sloTtftMs: 100 });
  assert.equal(recorder.add(sample()), false);
  assert.equal(Math.round(recorder.measurements().ttft.max), 500);
});

Deno.test("TokenRecorder holds the first token to its objective, from intended send", () => {
  assert.equal(meets({ sloTtftMs: 50 }, 50), true);
  assert.equal(meets({ sloTtftMs: 50 }, 51), false);
});

Deno.test("TokenRecorder lets one token of a hundred be later than the objective", () => {
  const tokens = Array.from({ length: 100 }, (_, n) => 20 + n);
  assert.equal(meets({ sloTbtMs: 5 }, ...tokens.slice(0, -1), 300), true);
  assert.equal(meets({ sloTbtMs: 5 }, ...tokens.slice(0, -2), 200, 300), false);
  assert.equal(meets({ sloTbtMs: 5 }, 20, 300), false);
});
