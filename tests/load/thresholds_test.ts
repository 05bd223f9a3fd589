import assert from "node:assert/strict";
import { SluiceError } from "../../models/errors.ts";
import { madeUpReport } from "./made_up_report.ts";
import { broken, parseThreshold } from "./thresholds.ts";

const REPORT = madeUpReport([
  { name: "fast", outcomes: ["ok", "ok"], millis: 10 },
  { name: "slow", outcomes: ["ok", "failed"], millis: 40 },
]);
const NAMES = ["fast", "slow"];

for (
  const [text, found] of [
    ["p99>20", ["slow: p99 is 40, over 20"]],
    ["p99>40", []],
    ["fast:p99>20", []],
    ["attainment<0.9", ["slow: attainment is 0.500, under 0.9"]],
    ["slow: errors > 0.1", ["slow: errors is 0.500, over 0.1"]],
    ["jain<0.95", ["all: jain is 0.900, under 0.95"]],
    ["fast:slowdown>2", ["fast: slowdown was not measured"]],
    ["fast:ttft_p99>2", ["fast: ttft_p99 was not measured"]],
  ] as const
) {
  Deno.test(`broken() finds ${found.length} for ${text}`, () => {
    assert.deepEqual(broken(parseThreshold(text, NAMES), REPORT), found);
  });
}

for (
  const [text, message] of [
    ["p98", "expected a metric, < or >, and a number, such as p99>50 or digits:goodput<100"],
    ["p98>1", 'there is no metric "p98"; did you mean "p90"?'],
    ["fst:p99>1", 'there is no model "fst" in the scenario; did you mean "fast"?'],
    ["fast:jain<1", "jain is of all models together"],
  ]
) {
  Deno.test(`parseThreshold() refuses ${text}`, () => {
    assert.throws(
      () => parseThreshold(text, NAMES),
      (error) =>
        error instanceof SluiceError && error.message.startsWith(`--fail-if "${text}": ${message}`),
    );
  });
}
