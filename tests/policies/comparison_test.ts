import assert from "node:assert/strict";
import { POLICIES } from "../../policies/mod.ts";
import { COMPARISONS, comparisonTable, type Figures, measure } from "./comparison.ts";

/** What makes each policy the right choice for its loads. */
const BETTER: Readonly<Record<string, (own: Figures, other: Figures) => boolean>> = {
  fifo: (own, fair) => own.endMillis < 0.6 * fair.endMillis,
  round_robin: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  fair: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  priority: (own, fifo) => own.p99Millis < fifo.p99Millis / 10,
  srtf: (own, fifo) => own.endMillis < 0.6 * fifo.endMillis,
  edf: (own, fifo) => own.missed === 0 && fifo.missed !== undefined && fifo.missed > 0.1,
  las_2d: (own, fifo) => own.p99Millis < fifo.p99Millis / 10 && own.endMillis < fifo.endMillis,
  lottery: (own, fifo) => Math.abs(own.share - 0.75) < 0.02 && fifo.share < 0.1,
};

for (const comparison of COMPARISONS) {
  const { policy, load, against = "fifo" } = comparison;
  Deno.test(`${policy} is the right choice for ${load}`, () => {
    const [own, other] = [policy, against].map((name) => measure(comparison, name));
    assert.ok(BETTER[policy](own, other), JSON.stringify({ own, other }));
  });
}

Deno.test("COMPARISONS has a load for every policy", () => {
  const compared = new Set(COMPARISONS.map(({ policy }) => policy));
  assert.deepEqual([...compared].sort(), [...POLICIES.keys()].sort());
});

Deno.test("docs/policies.md shows under each policy's heading what comparisonTable() prints", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/policies.md", import.meta.url));
  const cells = (text: string) =>
    text.split("\n").filter((line) => line.startsWith("|") && !/^[| -]+$/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()).join("|"));
  for (const policy of POLICIES.keys()) {
    const section = page.split(`\n### \`${policy}\`\n`)[1]?.split(/\n##/)[0];
    assert.ok(section !== undefined, `there is a heading of '${policy}'`);
    assert.deepEqual(cells(section), cells(comparisonTable(policy)));
  }
});
