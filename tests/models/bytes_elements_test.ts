import assert from "node:assert/strict";
import fc from "fast-check";
import {
  countElements,
  countElementsWithNul,
  endOfElements,
  frameElements,
  frameJoined,
  TextFramer,
  unframeElements,
} from "../../models/bytes_elements.ts";

const elements = fc.array(fc.uint8Array({ maxLength: 9 }).map((bytes) => Uint8Array.from(bytes)));

Deno.test("frameElements() and frameJoined() write lengths in little-endian order", () => {
  const framed = Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 3);
  assert.deepEqual(
    frameElements([Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(2, 3)]),
    framed,
  );
  assert.deepEqual(frameJoined(Uint8Array.of(1, 2, 3), [0, 0, 1]), framed);
});

Deno.test("unframeElements() gives back what was framed, and the counts agree with it", () => {
  fc.assert(fc.property(elements, (given) => {
    const data = frameElements(given);
    assert.deepEqual(unframeElements(data), given);
    assert.equal(countElements(data), given.length);
    assert.equal(countElementsWithNul(data), given.filter((bytes) => bytes.includes(0)).length);
  }));
});

Deno.test("endOfElements() finds where elements end from any start, and none beyond the data", () => {
  fc.assert(fc.property(elements, elements, (first, second) => {
    const start = frameElements(first).length;
    const data = frameElements([...first, ...second]);
    assert.equal(endOfElements(data, 0, first.length), start);
    assert.equal(endOfElements(data, start, second.length), data.length);
    assert.equal(endOfElements(data, start, second.length + 1), undefined);
  }));
});

Deno.test("unframeElements() and countElements() refuse lengths that do not add up", () => {
  for (const data of [[1], [1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0, 9], [255, 255, 255, 255, 1]]) {
    assert.equal(unframeElements(Uint8Array.from(data)), undefined);
    assert.equal(countElements(Uint8Array.from(data)), undefined);
  }
});

Deno.test("TextFramer frames texts of any length as UTF-8", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 600 })), (texts) => {
    const framer = new TextFramer();
    for (const text of texts) framer.add(text);
    const encoded = texts.map((text) => new TextEncoder().encode(text));
    assert.deepEqual(framer.data(), frameElements(encoded));
  }));
});
