import assert from "node:assert/strict";
import fc from "fast-check";
import {
  needsExactJson,
  parseExactJson,
} from "../../../server/protocols/open_inference/exact_json.ts";

/** A value as `JSON.parse` gives it: objects have a prototype, and large integers are rounded. */
const plain = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? Number(inner) : inner),
  );

Deno.test("parseExactJson() reads what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom("", " ", "\n\t\r "), (text, space) => {
      const spaced = space + text.replaceAll(",", `${space},${space}`) + space;
      let expected: unknown;
      try {
        expected = JSON.parse(spaced);
      } catch {
        return;
      }
      assert.deepEqual(plain(parseExactJson(spaced)), plain(expected));
    }),
    { seed: 1, numRuns: 500 },
  );
});

Deno.test("parseExactJson() refuses what JSON.parse refuses", () => {
  const pieces = fc.constantFrom(
    ...["{", "}", "[", "]", ",", ":", '"a"', '"\\x"', '"', "1", "-", "01", ".5", "1.", "1e", "+1"],
    ...["true", "nul", " ", '"\n"', "1e-5", "-0", "\u00a0"],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 6 }), (parts) => {
      const text = parts.join("");
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        assert.throws(() => parseExactJson(text), SyntaxError, text);
        return;
      }
      assert.deepEqual(plain(parseExactJson(text)), plain(expected));
    }),
    { seed: 2, numRuns: 5000 },
  );
});

Deno.test("parseExactJson() keeps every integer that a datatype holds", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (integer) => {
      const value = parseExactJson(`[${integer}]`) as (number | bigint)[];
      assert.equal(BigInt(value[0]), integer);
      assert.equal(typeof value[0], Number.isSafeInteger(Number(integer)) ? "number" : "bigint");
    }),
    { seed: 3 },
  );
});

Deno.test("parseExactJson() takes integers beyond every datatype as numbers, never digit by digit", () => {
  assert.deepEqual(parseExactJson(`[1${"0".repeat(30)}]`), [1e30]);
  assert.throws(() => parseExactJson(`[${"9".repeat(100_000)}]`), /out of range at position 1$/);
});

Deno.test("parseExactJson() reads bare words, and refuses numbers beyond a double", () => {
  assert.deepEqual(parseExactJson("[NaN,Infinity,-Infinity]"), [NaN, Infinity, -Infinity]);
  for (const text of ["[1e400]", "[-1e400]", "[-NaN]", "[+Infinity]", "[nan]"]) {
    assert.throws(() => parseExactJson(text), /position 1$/);
  }
});

Deno.test("parseExactJson() takes of a duplicate key the last, and any key", () => {
  const value = parseExactJson('{"a":1,"__proto__":{"b":2},"a":3}') as Record<string, unknown>;
  assert.equal(value.a, 3);
  assert.deepEqual(Object.keys(value), ["a", "__proto__"]);
});

Deno.test("needsExactJson() asks for it only where JSON.parse would not do", () => {
  assert.equal(needsExactJson('{"datatype":"FP32","data":[1.2345678901234567]}'), false);
  assert.equal(needsExactJson('{"datatype":"INT64","data":[123,1.2345678901234567]}'), false);
  assert.equal(needsExactJson('{"datatype":"INT64","data":[9007199254740993]}'), true);
  assert.equal(needsExactJson('{"datatype":"UINT64","data":[ 9007199254740993]}'), true);
  assert.equal(needsExactJson('{"datatype":"FP32","data":[NaN]}'), true);
  assert.equal(needsExactJson('{"datatype":"FP32","data":[-Infinity]}'), true);
});
