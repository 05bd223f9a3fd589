import assert from "node:assert/strict";
import { gainsFromSharing, inPlaceEstimate } from "../../../models/cpu/measure.ts";

const TRIALS = [{ elements: 10, micros: 20 }, { elements: 80, micros: 40 }];

Deno.test("inPlaceEstimate() takes no longer than a larger trial", () => {
  assert.equal(inPlaceEstimate(TRIALS, 5), 20);
  assert.equal(inPlaceEstimate(TRIALS, 10), 20);
  assert.equal(inPlaceEstimate(TRIALS, 40), 40);
});

Deno.test("inPlaceEstimate() goes on in proportion to the largest trial", () => {
  assert.equal(inPlaceEstimate(TRIALS, 160), 80);
});

Deno.test("inPlaceEstimate() expects nothing where no trial was short", () => {
  assert.equal(inPlaceEstimate([], 1), Infinity);
});

Deno.test("gainsFromSharing() wants a fifth off the time", () => {
  assert.equal(gainsFromSharing(160, 125), false);
  assert.equal(gainsFromSharing(110, 125), false);
  assert.equal(gainsFromSharing(90, 125), true);
});
