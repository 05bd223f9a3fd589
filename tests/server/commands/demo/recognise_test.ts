import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeScores, parseCharacters } from "../../../../server/commands/demo/recognise.ts";

const characters = parseCharacters("a\nb\nc\n");

/** Scores that have each class of `path` for their best, by 0.5 to 0.1. */
function scoresOf(path: readonly number[]): Float32Array {
  const scores = new Float32Array(path.length * characters.length).fill(0.1);
  path.forEach((best, step) => scores[step * characters.length + best] = 0.5);
  return scores;
}

Deno.test("parseCharacters() puts the blank first and the space last", () => {
  assert.deepEqual(parseCharacters("a\nb\n"), ["", "a", "b", " "]);
  assert.deepEqual(parseCharacters("a\r\nb"), ["", "a", "b", " "]);
});

Deno.test("decodeScores() takes a repeat once, unless a blank parts it", () => {
  assert.equal(decodeScores(scoresOf([1, 1, 2, 0, 2, 2, 4, 3]), characters).text, "abb c");
});

Deno.test("decodeScores() is as sure as the characters are on average", () => {
  const scores = scoresOf([0, 1, 2]);
  scores[characters.length + 1] = 0.75;
  assert.deepEqual(decodeScores(scores, characters), { text: "ab", confidence: 0.625 });
  assert.deepEqual(decodeScores(scoresOf([0, 0]), characters), { text: "", confidence: 0 });
});

Deno.test("decodeScores() gives back any text from any path that spells it", () => {
  const step = fc.record({
    character: fc.integer({ min: 1, max: 4 }),
    repeats: fc.integer({ min: 1, max: 3 }),
    blanks: fc.integer({ min: 0, max: 2 }),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const path = steps.flatMap(({ character, repeats, blanks }, index) => {
        const same = steps[index + 1]?.character === character;
        return [
          ...Array<number>(repeats).fill(character),
          ...Array<number>(same ? blanks + 1 : blanks).fill(0),
        ];
      });
      const text = steps.map(({ character }) => characters[character]).join("");
      assert.equal(decodeScores(scoresOf(path), characters).text, text);
    }),
    { seed: 5, numRuns: 100 },
  );
});

Deno.test("decodeScores() refuses scores of other characters", () => {
  assert.throws(() => decodeScores(new Float32Array(7), characters), {
    name: "RangeError",
    message: "Scores: expected a multiple of 5 (the characters), got 7",
  });
});
