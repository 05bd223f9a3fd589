import assert from "node:assert/strict";
import fc from "fast-check";
import { elementsOf, joinElements } from "../../../models/cpu/byte_strings.ts";

Deno.test("elementsOf() gives back what joinElements() has joined", () => {
  const element = fc.uint8Array({ maxLength: 20 });
  fc.assert(fc.property(fc.array(element, { maxLength: 10 }), (elements) => {
    const starts: number[] = [];
    let length = 0;
    for (const element of elements) {
      starts.push(length);
      length += element.length;
    }
    const bytes = Uint8Array.from(elements.flatMap((element) => [...element]));
    const data = joinElements(bytes, starts);
    assert.deepEqual(
      Array.from(elementsOf(data), (element) => [...element]),
      elements.map((element) => [...element]),
    );
  }));
});

Deno.test("elementsOf() never reads beyond its data", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
    const data = Uint8Array.from(bytes);
    let consumed = 0;
    for (const element of elementsOf(data)) consumed += 4 + element.length;
    assert.ok(consumed <= data.length);
  }));
});

Deno.test("joinElements() writes lengths in little-endian order", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  assert.deepEqual(
    joinElements(bytes, [0, 0, 1]),
    Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 3),
  );
});
