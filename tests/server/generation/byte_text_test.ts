import assert from "node:assert/strict";
import fc from "fast-check";
import { ByteText } from "../../../server/generation/byte_text.ts";

const encoder = new TextEncoder();

/** The pieces of a text, one for each byte until it is stopped, and what its end adds. */
function pieces(bytes: Uint8Array | string, ...stop: readonly string[]): string[] {
  const text = new ByteText(stop.map((string) => encoder.encode(string)));
  const given: string[] = [];
  for (const byte of typeof bytes === "string" ? encoder.encode(bytes) : bytes) {
    given.push(text.push(byte));
    if (text.stopped) break;
  }
  return [...given, text.end()];
}

Deno.test("ByteText.push() gives whole characters only", () => {
  assert.deepEqual(pieces("aé€😀b"), ["a", "", "é", "", "", "€", "", "", "", "😀", "b", ""]);
});

Deno.test("ByteText gives U+FFFD for what is no UTF-8, also at the end", () => {
  assert.deepEqual(pieces(new Uint8Array([0x61, 0xff, 0x62])), ["a", "\uFFFD", "b", ""]);
  assert.deepEqual(pieces(new Uint8Array([0x61, 0xe2, 0x82])), ["a", "", "", "\uFFFD"]);
  assert.deepEqual(pieces(new Uint8Array([0xe2, 0x82, 0x62])), ["", "", "\uFFFDb", ""]);
});

Deno.test("ByteText keeps a byte order mark: it is a character like others", () => {
  assert.equal(pieces("\uFEFFa").join(""), "\uFEFFa");
});

Deno.test("ByteText.push() holds back what may become a stop string", () => {
  assert.deepEqual(pieces("one two", "two"), ["o", "n", "e", " ", "", "", "", ""]);
  assert.deepEqual(pieces("tw, twin", "two"), ["", "", "tw,", " ", "", "", "twi", "n", ""]);
  assert.deepEqual(pieces("so tw", "two"), ["s", "o", " ", "", "", "tw"]);
});

Deno.test("ByteText ends with the first stop string, the longest of those that end together", () => {
  assert.equal(pieces("a, b; c", ";", ",").join(""), "a");
  assert.equal(pieces("abc", "c", "bc").join(""), "a");
  assert.equal(pieces("abcd", "bcde", "c").join(""), "ab");
  assert.equal(pieces("aabaabaaab", "aabaaa").join(""), "aab");
  assert.equal(pieces("pré€", "€").join(""), "pré");
});

Deno.test("ByteText is the text up to where a stop string is found, whatever both are", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 30 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "é"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(text, fc.uniqueArray(stop, { maxLength: 3 }), (text, stops) => {
      let expected = text;
      for (let end = 1; end <= text.length; end++) {
        const found = stops.filter((stop) => text.slice(0, end).endsWith(stop));
        if (found.length === 0) continue;
        expected = text.slice(0, end - Math.max(...found.map((stop) => stop.length)));
        break;
      }
      assert.equal(pieces(text, ...stops).join(""), expected);
    }),
    { seed: 1, numRuns: 500 },
  );
});
