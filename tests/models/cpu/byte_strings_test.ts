import assert from "node:assert/strict";
import fc from "fast-check";
import { frameJoined } from "../../../models/bytes_elements.ts";
import { terminateElements } from "../../../models/cpu/byte_strings.ts";

const elementsOf = ({ bytes, starts, ends }: ReturnType<typeof terminateElements>) =>
  Array.from(starts, (start, i) => [...bytes.subarray(start, ends[i])]);

Deno.test("terminateElements() gives back what frameJoined() has framed, each before a NUL", () => {
  const element = fc.array(fc.nat(255), { maxLength: 20 });
  const pieces = fc.array(fc.array(element, { maxLength: 10 }), { maxLength: 3 });
  fc.assert(fc.property(pieces, (pieces) => {
    const joined = pieces.map((elements) => {
      let length = 0;
      const starts = elements.map((element) => (length += element.length) - element.length);
      return frameJoined(Uint8Array.from(elements.flat()), starts);
    });
    const elements = pieces.flat();
    const strings = terminateElements(joined, elements.length);
    assert.deepEqual(elementsOf(strings), elements);
    assert.ok(strings.ends.every((end) => strings.bytes[end] === 0));
    assert.deepEqual([strings.found, strings.rest], [elements.length, 0]);
  }));
});

Deno.test("terminateElements() accounts for every byte of any data, and reads none beyond it", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 3 });
  fc.assert(fc.property(pieces, (given) => {
    const pieces = given.map((bytes) => Uint8Array.from(bytes));
    const total = pieces.flatMap((piece) => [...piece]).length;
    const { found, rest, starts, ends } = terminateElements(pieces, total);
    let whole = 0;
    for (let i = 0; i < found; i++) whole += 4 + ends[i] - starts[i];
    assert.equal(whole + rest, total);
  }));
});
