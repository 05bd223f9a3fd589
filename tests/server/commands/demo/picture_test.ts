import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { encode, type ImageData } from "fast-png";
import {
  decodePicture,
  type Picture,
  resize,
  toPlanes,
  turnAround,
} from "../../../../server/commands/demo/picture.ts";

const pictures = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })).chain(
  ([width, height]) =>
    fc.uint8Array({ minLength: width * height * 3, maxLength: width * height * 3 })
      .map((rgb): Picture => ({ width, height, rgb })),
);

const pixels: Record<string, [ImageData, number[]]> = {
  grey: [{ width: 2, height: 1, channels: 1, data: Uint8Array.of(7, 200) }, [
    ...[7, 7, 7],
    ...[200, 200, 200],
  ]],
  "grey with alpha": [
    { width: 2, height: 1, channels: 2, data: Uint8Array.of(0, 255, 0, 51) },
    [0, 0, 0, 204, 204, 204],
  ],
  colour: [{ width: 1, height: 1, channels: 3, data: Uint8Array.of(1, 2, 3) }, [1, 2, 3]],
  "colour with alpha": [
    { width: 1, height: 1, channels: 4, data: Uint8Array.of(0, 100, 255, 0) },
    [255, 255, 255],
  ],
  "sixteen-bit": [
    { width: 1, height: 1, channels: 3, depth: 16, data: Uint16Array.of(0, 32896, 65535) },
    [0, 128, 255],
  ],
};

for (const [kind, [image, rgb]] of Object.entries(pixels)) {
  Deno.test(`decodePicture() reads a ${kind} PNG`, () => {
    assert.deepEqual([...decodePicture(encode(image)).rgb], rgb);
  });
}

const packed: Record<string, [string, number[]]> = {
  "palette": [
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABAgMAAABmjvwnAAAACVBMVEX/AAAA/wAAAP8tSs2KAAAACklEQVR4nGNoAQAAhgCFvPXN1gAAAABJRU5ErkJggg==",
    [0, 0, 255, 255, 0, 0, 0, 255, 0],
  ],
  "palette with alpha": [
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABAgMAAABmjvwnAAAACVBMVEX/AAAA/wAAAP8tSs2KAAAAA3RSTlP//wDXyg1BAAAACklEQVR4nGNoAQAAhgCFvPXN1gAAAABJRU5ErkJggg==",
    [255, 255, 255, 255, 0, 0, 0, 255, 0],
  ],
  "one-bit": [
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABAQAAAAAzmykZAAAACklEQVR4nGNYAAAAogCh3I2xzAAAAABJRU5ErkJggg==",
    [255, 255, 255, 0, 0, 0, 255, 255, 255],
  ],
};

for (const [kind, [base64, rgb]] of Object.entries(packed)) {
  Deno.test(`decodePicture() reads a ${kind} PNG`, () => {
    assert.deepEqual([...decodePicture(Buffer.from(base64, "base64")).rgb], rgb);
  });
}

Deno.test("decodePicture() refuses what is not a PNG", () => {
  assert.throws(() => decodePicture(new TextEncoder().encode("no picture at all")), {
    code: "invalid_argument",
    message: "The picture is no readable PNG: wrong PNG signature",
  });
});

Deno.test("decodePicture() refuses a PNG that breaks off", () => {
  const png = encode({ width: 3, height: 3, channels: 1, data: new Uint8Array(9) });
  for (const length of [8, 20, 40, png.length - 20]) {
    assert.throws(() => decodePicture(png.slice(0, length)), { code: "invalid_argument" });
  }
});

Deno.test("resize() changes nothing at the same size", () => {
  fc.assert(
    fc.property(pictures, (picture) => {
      assert.deepEqual(resize(picture, picture.width, picture.height), picture);
    }),
    { seed: 1, numRuns: 50 },
  );
});

Deno.test("resize() cuts out a box when given one", () => {
  const rgb = Uint8Array.from({ length: 4 * 3 * 3 }, (_, index) => index);
  const box = { left: 1, top: 1, right: 3, bottom: 3 };
  assert.deepEqual(
    [...resize({ width: 4, height: 3, rgb }, 2, 2, box).rgb],
    [15, 16, 17, 18, 19, 20, 27, 28, 29, 30, 31, 32],
  );
});

Deno.test("resize() interpolates between neighbours and no further", () => {
  const rgb = Uint8Array.of(0, 0, 0, 100, 100, 100);
  const { rgb: wider } = resize({ width: 2, height: 1, rgb }, 4, 1);
  assert.deepEqual([0, 3, 6, 9].map((index) => wider[index]), [0, 25, 75, 100]);
});

Deno.test("turnAround() twice is no change", () => {
  fc.assert(
    fc.property(pictures, (picture) => {
      assert.deepEqual(turnAround(turnAround(picture)), picture);
    }),
    { seed: 2, numRuns: 50 },
  );
});

Deno.test("turnAround() puts the last pixel first, its colours in order", () => {
  const rgb = Uint8Array.of(1, 2, 3, 4, 5, 6);
  assert.deepEqual([...turnAround({ width: 2, height: 1, rgb }).rgb], [4, 5, 6, 1, 2, 3]);
});

Deno.test("toPlanes() normalises, blue first, with zeros to the right", () => {
  const picture = { width: 1, height: 2, rgb: Uint8Array.of(255, 0, 51, 0, 255, 102) };
  const half = { mean: [0.2, 0, 0], deviation: [0.2, 1, 2] } as const;
  const planes = toPlanes(picture, half, 2);
  assert.deepEqual([...planes].map((value) => Math.round(value * 1e6) / 1e6), [
    ...[0, 0, 1, 0], // blue: 51 and 102
    ...[0, 0, 1, 0], // green
    ...[0.5, 0, 0, 0], // red
  ]);
});
