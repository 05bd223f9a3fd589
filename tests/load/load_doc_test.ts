import assert from "node:assert/strict";
import { METRICS } from "./metrics.ts";
import { OUTCOMES } from "./outcome.ts";
import { ARRIVAL_KINDS, resolveScenario } from "./scenario_schema.ts";

const text = await Deno.readTextFile(new URL("../../docs/load-testing.md", import.meta.url));

Deno.test("docs/load-testing.md shows a scenario that is one", () => {
  const [, json] = /```json\n(.*?)```/s.exec(text)!;
  assert.equal(resolveScenario(JSON.parse(json), "docs").models.length, 4);
});

Deno.test("docs/load-testing.md names every kind of arrivals, outcome and metric", () => {
  const derived = /^(actual|lag|ttft|tbt)_/;
  const metrics = METRICS.map(({ name }) => name).filter((name) => !derived.test(name));
  for (const name of [...ARRIVAL_KINDS, ...OUTCOMES.filter((kind) => kind !== "ok"), ...metrics]) {
    assert.match(text, new RegExp(`\`${name}[\`:]`), name);
  }
});
