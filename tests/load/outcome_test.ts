import assert from "node:assert/strict";
import { type Outcome, outcomeOf } from "./outcome.ts";

const CASES: readonly (readonly [number, string | null, string, Outcome])[] = [
  [200, null, "", "ok"],
  [429, null, "", "queue_full"],
  [504, null, "", "deadline"],
  [503, null, "overloaded", "unavailable"],
  [503, null, "[request id: 1] Exceeds maximum queue size", "queue_full"],
  [503, null, "Request timeout expired", "deadline"],
  [503, "queue_full", "", "queue_full"],
  [503, "deadline_exceeded", "", "deadline"],
  [503, "shutting_down", "", "unavailable"],
  [499, "cancelled", "", "cancelled"],
  [400, "invalid_argument", "", "refused"],
  [500, null, "", "failed"],
  [302, null, "", "failed"],
];

for (const [status, code, message, outcome] of CASES) {
  Deno.test(`outcomeOf() is ${outcome} for ${status} ${code ?? ""} "${message}"`, () => {
    assert.equal(outcomeOf(status, code, message), outcome);
  });
}
