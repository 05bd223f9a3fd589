import assert from "node:assert/strict";
import * as shapes from "../../../models/onnx/shapes.ts";

function fault(message: string) {
  return { name: "ShapeFault", message };
}

Deno.test("broadcastShape() stretches axes of size 1, aligned at the end", () => {
  assert.deepEqual(shapes.broadcastShape([2, 1, 4], [3, 1]), [2, 3, 4]);
  assert.deepEqual(shapes.broadcastShape([], [5]), [5]);
  assert.deepEqual(shapes.broadcastShape([0, 3], [1, 3]), [0, 3]);
  assert.throws(
    () => shapes.broadcastShape([2, 3], [2]),
    fault("shapes [2,3] and [2] cannot be broadcast"),
  );
});

Deno.test("broadcastStrides() stands still along axes that repeat", () => {
  assert.deepEqual(shapes.broadcastStrides([3, 1], [2, 3, 4]), [0, 1, 0]);
  assert.deepEqual(shapes.broadcastStrides([2, 3, 4], [2, 3, 4]), [12, 4, 1]);
});

Deno.test("normalAxes() counts from the end, sorts, and takes no axis twice", () => {
  assert.deepEqual(shapes.normalAxes([-1, 0], 3), [0, 2]);
  assert.throws(() => shapes.normalAxes([2, -1], 3), fault("axis 2 is named twice"));
  assert.throws(
    () => shapes.normalAxes([3], 3),
    fault("axis 3 is not one of a tensor of rank 3"),
  );
});

Deno.test("productShape() takes vectors for matrices and leaves their axis out again", () => {
  assert.deepEqual(shapes.productShape([5, 2, 3], [3, 4]), [5, 2, 4]);
  assert.deepEqual(shapes.productShape([2, 1, 2, 3], [5, 3, 4]), [2, 5, 2, 4]);
  assert.deepEqual(shapes.productShape([3], [3, 4]), [4]);
  assert.deepEqual(shapes.productShape([2, 3], [3]), [2]);
  assert.deepEqual(shapes.productShape([3], [3]), []);
  assert.throws(
    () => shapes.productShape([2, 3], [4, 5]),
    fault("matrices of shapes [2,3] and [4,5] have no product"),
  );
  assert.throws(
    () => shapes.productShape([], [4, 5]),
    fault("shapes [] and [4,5] are not both matrices"),
  );
});

Deno.test("reshapedShape() settles -1, and 0 as it is told to", () => {
  assert.deepEqual(shapes.reshapedShape([2, 3, 4], [0, -1], false), [2, 12]);
  assert.deepEqual(shapes.reshapedShape([0, 3], [3, 0], true), [3, 0]);
  for (
    const [input, target] of [[[2, 3], [4, -1]], [[2, 3], [7]], [[2, 3], [-1, -1]], [[2], [-2, -1]]]
  ) {
    assert.throws(() => shapes.reshapedShape(input, target, false), { name: "ShapeFault" });
  }
  assert.throws(
    () => shapes.reshapedShape([6], [2, 0], false),
    fault("shape [2,0] takes axis 1 of a tensor of shape [6]"),
  );
});

Deno.test("flattenedShape() makes a matrix, wherever it is split", () => {
  assert.deepEqual(shapes.flattenedShape([2, 3, 4], 0), [1, 24]);
  assert.deepEqual(shapes.flattenedShape([2, 3, 4], -1), [6, 4]);
  assert.deepEqual(shapes.flattenedShape([2, 3, 4], 3), [24, 1]);
  assert.throws(() => shapes.flattenedShape([2, 3], 3), { name: "ShapeFault" });
});

Deno.test("squeezedShape() leaves axes of size 1 out, and no others", () => {
  assert.deepEqual(shapes.squeezedShape([1, 2, 1]), [2]);
  assert.deepEqual(shapes.squeezedShape([1, 2, 1], []), [2]);
  assert.deepEqual(shapes.squeezedShape([1, 2, 1], [-1]), [1, 2]);
  assert.throws(
    () => shapes.squeezedShape([1, 2], [1]),
    fault("axis 1 of shape [1,2] is not 1, so it cannot be left out"),
  );
});

Deno.test("unsqueezedShape() counts axes in the result", () => {
  assert.deepEqual(shapes.unsqueezedShape([2, 3], [0, -1]), [1, 2, 3, 1]);
  assert.throws(() => shapes.unsqueezedShape([2], [2]), { name: "ShapeFault" });
});

Deno.test("reducedShape() keeps axes as 1, or leaves them out", () => {
  assert.deepEqual(shapes.reducedShape([2, 3, 4], [1], true), [2, 1, 4]);
  assert.deepEqual(shapes.reducedShape([2, 3, 4], [0, 2], false), [3]);
});
