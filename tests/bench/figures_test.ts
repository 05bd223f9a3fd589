import assert from "node:assert/strict";
import fc from "fast-check";
import { judge, median, pairedRatio, significant } from "./figures.ts";

const figures = fc.array(fc.double({ min: 0.001, max: 1e9, noNaN: true }), { minLength: 1 });

Deno.test("median() has as many values below it as above", () => {
  fc.assert(fc.property(figures, (values) => {
    const middle = median(values);
    const below = values.filter((value) => value < middle).length;
    const above = values.filter((value) => value > middle).length;
    assert(below <= values.length / 2 && above <= values.length / 2);
  }));
  assert.equal(median([4, 1, 3]), 3);
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

Deno.test("median() throws when there are no values", () => {
  assert.throws(() => median([]), RangeError);
});

Deno.test("pairedRatio() is untouched by what slows a pair of runs down", () => {
  const slowdowns = fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 1 });
  fc.assert(fc.property(slowdowns, (powers) => {
    const theirs = powers.map((power) => 2 ** power);
    assert.equal(pairedRatio(theirs.map((value) => value * 1.5), theirs), 1.5);
  }));
});

Deno.test("judge() compares with the bound itself included", () => {
  assert.deepEqual(
    judge("wide", "CPU", 1, "at most", 1),
    { subject: "wide", goal: "CPU at most 1", figure: 1, met: true },
  );
  assert.equal(judge("wide", "CPU", 1.001, "at most", 1).met, false);
  assert.equal(judge("wide", "rate", 0.9, "at least", 0.9).met, true);
  assert.equal(judge("wide", "rate", 0.899, "at least", 0.9).met, false);
});

Deno.test("significant() shows three digits, and whole numbers from a thousand up", () => {
  assert.deepEqual([12345.6, 1.2345, 0.012345, 0].map(significant), [
    "12,346",
    "1.23",
    "0.0123",
    "0",
  ]);
});
