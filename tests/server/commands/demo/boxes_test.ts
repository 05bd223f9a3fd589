import assert from "node:assert/strict";
import fc from "fast-check";
import { findBoxes, type TextMap } from "../../../../server/commands/demo/boxes.ts";
import type { Box } from "../../../../server/commands/demo/picture.ts";

function mapOf(width: number, height: number, boxes: readonly Box[], probability = 0.9): TextMap {
  const map = { width, height, probability: new Float32Array(width * height) };
  for (const box of boxes) {
    for (let y = box.top; y < box.bottom; y++) {
      map.probability.fill(probability, y * width + box.left, y * width + box.right);
    }
  }
  return map;
}

Deno.test("findBoxes() grows each line by its area over its circumference", () => {
  const line = { left: 20, top: 30, right: 60, bottom: 40 };
  // 40 x 10 pixels: 400 * 1.8 / 100 = 7.2 to each side.
  assert.deepEqual(findBoxes(mapOf(100, 80, [line]), 100, 80), [
    { left: 13, top: 23, right: 67, bottom: 47 },
  ]);
});

Deno.test("findBoxes() gives boxes in the picture's own size", () => {
  const line = { left: 20, top: 30, right: 60, bottom: 40 };
  assert.deepEqual(findBoxes(mapOf(100, 80, [line]), 200, 40), [
    { left: 26, top: 11, right: 134, bottom: 24 },
  ]);
});

Deno.test("findBoxes() reads from the top, and from the left within a line", () => {
  const boxes = [
    { left: 60, top: 11, right: 90, bottom: 21 },
    { left: 5, top: 14, right: 35, bottom: 24 },
    { left: 5, top: 60, right: 90, bottom: 70 },
  ];
  const found = findBoxes(mapOf(100, 80, boxes), 100, 80);
  assert.deepEqual(found.map(({ left, top }) => left < 40 && top < 40), [true, false, false]);
  assert.ok(found[1].left > 40 && found[2].top > 40);
});

Deno.test("findBoxes() passes over specks and what is hardly text", () => {
  const speck = { left: 5, top: 5, right: 50, bottom: 7 };
  const faint = { left: 5, top: 30, right: 50, bottom: 40 };
  assert.deepEqual(findBoxes(mapOf(100, 80, [speck]), 100, 80), []);
  assert.deepEqual(findBoxes(mapOf(100, 80, [faint], 0.5), 100, 80), []);
  assert.deepEqual(findBoxes(mapOf(100, 80, []), 100, 80), []);
});

Deno.test("findBoxes() finds every line once, whole and inside the picture", () => {
  const cell = 24;
  const inCell = fc.record({
    column: fc.nat(4),
    row: fc.nat(4),
    x: fc.integer({ min: 1, max: 8 }),
    y: fc.integer({ min: 1, max: 8 }),
    width: fc.integer({ min: 3, max: 14 }),
    height: fc.integer({ min: 3, max: 14 }),
  });
  const cells = fc.uniqueArray(inCell, { selector: ({ column, row }) => row * 5 + column });
  fc.assert(
    fc.property(cells, (chosen) => {
      const side = 5 * cell;
      const lines = chosen.map(({ column, row, x, y, width, height }) => {
        const [left, top] = [column * cell + x, row * cell + y];
        return { left, top, right: left + width, bottom: top + height };
      });
      const found = findBoxes(mapOf(side, side, lines), side, side);
      assert.equal(found.length, lines.length);
      for (const line of lines) {
        const around = found.filter((box) =>
          box.left <= line.left && box.top <= line.top && box.right >= line.right &&
          box.bottom >= line.bottom
        );
        assert.equal(around.length, 1);
      }
      for (const box of found) {
        assert.ok(box.left >= 0 && box.top >= 0 && box.right <= side && box.bottom <= side);
      }
    }),
    { seed: 3, numRuns: 100 },
  );
});
