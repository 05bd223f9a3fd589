import assert from "node:assert/strict";
import { assertClose, assertSame } from "./compare.ts";

Deno.test("assertClose() accepts what lies within the tolerance", () => {
  assertClose([1.01, 200], [1, 200], { relative: 0.02 }, "x");
  assertClose([1e-3, 1000], [0, 1000], { ofLargest: 1e-6 }, "x");
  assertClose([NaN, Infinity, -0], [NaN, Infinity, 0], {}, "x");
});

Deno.test("assertClose() says which element is wrong first, and how many are", () => {
  assert.throws(
    () => assertClose([1, 2.1, 3.1], [1, 2, 3], { relative: 1e-3 }, "x"),
    /x: 2 of 3 elements are wrong, the first is 1: 2.1, expected 2$/,
  );
});

Deno.test("assertClose() takes a NaN or an infinity that was not expected for wrong", () => {
  assert.throws(() => assertClose([NaN], [1], { relative: 1e9 }, "x"), /NaN, expected 1/);
  assert.throws(() => assertClose([1], [NaN], { relative: 1e9 }, "x"), /1, expected NaN/);
  assert.throws(() => assertClose([1], [Infinity], { relative: 1 }, "x"), /1, expected Infinity/);
  assert.throws(() => assertClose([Infinity], [1], { relative: 1e9 }, "x"), /Infinity, expected 1/);
});

Deno.test("assertClose() takes another number of elements for wrong", () => {
  assert.throws(() => assertClose([1], [1, 2], {}, "x"), /number of elements/);
});

Deno.test("assertSame() has no tolerance", () => {
  assertSame([1, 2], [1, 2], "x");
  assert.throws(() => assertSame([1, 2 ** 31], [1, 2 ** 31 + 1], "x"), /1 of 2 elements/);
});
