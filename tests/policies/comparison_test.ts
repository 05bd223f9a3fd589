import assert from "node:assert/strict";
import { DEFAULT_POLICY, POLICIES } from "../../policies/mod.ts";
import { COMPARISONS, comparisonTable, type Figures, measure } from "./comparison.ts";

/** What makes each policy the right choice for its load. */
const BETTER: Readonly<Record<string, (own: Figures, fifo: Figures) => boolean>> = {
  round_robin: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  fair: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  priority: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  srtf: (own, fifo) => own.meanMillis < fifo.meanMillis / 2,
  edf: (own, fifo) => own.missed === 0 && fifo.missed !== undefined && fifo.missed > 0.1,
  las_2d: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  lottery: (own, fifo) => Math.abs(own.share - 0.75) < 0.02 && fifo.share < 0.1,
};

for (const comparison of COMPARISONS) {
  const { policy, load } = comparison;
  Deno.test(`${policy} is the right choice for ${load}`, () => {
    const [own, fifo] = [policy, DEFAULT_POLICY.name].map((name) => measure(comparison, name));
    assert.ok(BETTER[policy](own, fifo), JSON.stringify({ own, fifo }));
  });
}

Deno.test("COMPARISONS has a load for every policy but the one they are compared with", () => {
  const compared = [DEFAULT_POLICY.name, ...COMPARISONS.map(({ policy }) => policy)];
  assert.deepEqual(compared.sort(), [...POLICIES.keys()].sort());
});

Deno.test("docs/policies.md shows what comparisonTable() prints", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/policies.md", import.meta.url));
  const cells = (text: string) =>
    text.split("\n").filter((line) => line.startsWith("|") && !/^[| -]+$/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()).join("|"));
  const printed = cells(comparisonTable());
  const shown = cells(page);
  const start = shown.indexOf(printed[0]);
  assert.deepEqual(shown.slice(start, start + printed.length), printed);
});
