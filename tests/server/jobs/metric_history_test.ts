import assert from "node:assert/strict";
import { MetricHistory } from "../../../server/jobs/metric_history.ts";

function historyOf(kept: number, from: number, to: number): MetricHistory {
  const history = new MetricHistory(kept);
  for (let i = from; i <= to; i++) history.add(i, { loss: 1 / i, accuracy: i });
  return history;
}

Deno.test("MetricHistory.curves() has every iteration while there are few", () => {
  assert.deepEqual(historyOf(4, 1, 4).curves(), {
    iterations: [1, 2, 3, 4],
    values: { loss: [1, 1 / 2, 1 / 3, 1 / 4], accuracy: [1, 2, 3, 4] },
  });
});

Deno.test("MetricHistory.curves() thins out evenly, and keeps the first and the last", () => {
  assert.deepEqual(historyOf(4, 1, 5).curves().iterations, [1, 3, 5]);
  assert.deepEqual(historyOf(4, 1, 6).curves().iterations, [1, 3, 5, 6]);
  assert.deepEqual(historyOf(4, 1, 9).curves().iterations, [1, 5, 9]);
  assert.deepEqual(historyOf(4, 101, 115).curves().iterations, [101, 105, 109, 113, 115]);
});

Deno.test("MetricHistory keeps at most 2,000 points beside the last one", () => {
  for (const iterations of [2000, 2001, 4000, 12_345, 100_000]) {
    const { iterations: kept, values } = historyOf(2000, 1, iterations).curves();
    assert.ok(kept.length <= 2001 && kept.length >= 1000, `${kept.length} of ${iterations}`);
    assert.deepEqual([kept[0], kept.at(-1)], [1, iterations]);
    assert.deepEqual(values.accuracy, kept);
  }
});

Deno.test("MetricHistory is empty before the first iteration", () => {
  const history = new MetricHistory();
  assert.deepEqual(history.curves(), { iterations: [], values: {} });
  assert.deepEqual(history.last, {});
});
