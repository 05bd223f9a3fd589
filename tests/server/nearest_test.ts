import assert from "node:assert/strict";
import { didYouMean, nearest } from "../../server/nearest.ts";

Deno.test("nearest() finds the candidate with a slip of the fingers", () => {
  const candidates = ["port", "host", "policy"];
  assert.equal(nearest("prot", candidates), "port");
  assert.equal(nearest("policies", candidates), "policy");
});

Deno.test("nearest() gives undefined when nothing is near or there is nothing", () => {
  assert.equal(nearest("colour", ["port", "host"]), undefined);
  assert.equal(nearest("port", []), undefined);
});

Deno.test("didYouMean() is empty when nothing is near", () => {
  assert.equal(didYouMean("hots", ["host"]), '; did you mean "host"?');
  assert.equal(didYouMean("colour", ["host"]), "");
});
