import assert from "node:assert/strict";
import fc from "fast-check";
import {
  parseTextFormat,
  positionOf,
  type TextField,
  TextFormatError,
  type TextValue,
} from "../../../models/triton_config/text_format.ts";

type Plain = readonly [name: string, value: TextValue["kind"] | Plain[], text?: string];

function plain(fields: readonly TextField[]): Plain[] {
  return fields.map(({ name, value }): Plain =>
    value.kind === "message" ? [name, plain(value.fields)] : [name, value.kind, value.text]
  );
}

Deno.test("parseTextFormat() reads every way to write a field", () => {
  const text = `
    # a comment
    a: 1 b: "two", c: THREE; d { e: -4 } f < g: 5.5e3f > h: { }
    list: [1, 2] messages [ { x: 1 }, < x: 2 > ] none: []
    m: - 6 hex: 0x1F inf: -inf empty: ''`;
  assert.deepEqual(plain(parseTextFormat(text)), [
    ["a", "number", "1"],
    ["b", "string", "two"],
    ["c", "identifier", "THREE"],
    ["d", [["e", "number", "-4"]]],
    ["f", [["g", "number", "5.5e3f"]]],
    ["h", []],
    ["list", "number", "1"],
    ["list", "number", "2"],
    ["messages", [["x", "number", "1"]]],
    ["messages", [["x", "number", "2"]]],
    ["m", "number", "-6"],
    ["hex", "number", "0x1F"],
    ["inf", "identifier", "-inf"],
    ["empty", "string", ""],
  ]);
});

Deno.test("parseTextFormat() joins neighbouring strings and resolves escapes", () => {
  const [{ value }] = parseTextFormat(
    String.raw`s: "a\n" 'b"' "\x41\101\u00e9\U0001F600\'\\" # and
      "\303\251"`,
  );
  assert.deepEqual(value, { kind: "string", text: "a\nb\"AA\u00e9\u{1F600}'\\\u00e9" });
});

Deno.test("parseTextFormat() says where the text is wrong, and what was expected", () => {
  const faults: [text: string, line: number, column: number, fault: RegExp][] = [
    ["a: 1\nb: }", 2, 4, /a value was expected for "b", not "}"/],
    ["a {\n  b: 1\n", 3, 1, /the text ends where "}" was expected/],
    ["a < b: 1 }", 1, 10, /a field's name was expected, not "}"/],
    ["}", 1, 1, /a field's name was expected/],
    ["a", 1, 2, /":" or "{" was expected after "a", not the end of the text/],
    ['a: "x\n"', 1, 4, /a string is not closed on its line/],
    ['a: "\\q"', 1, 5, /an escape in a string is unknown/],
    ['a: "\\xff"', 1, 4, /escapes are not UTF-8/],
    ["a: 12abc", 1, 6, /a blank was expected after "12"/],
    ["a: [1 2]", 1, 7, /"," or "\]" was expected/],
    ["[ext.name]: 1", 1, 1, /extensions and Any values are not understood/],
    ["\u00e4: 1", 1, 1, /a field's name was expected, not "\u00e4"/],
    ["a {".repeat(200), 1, 304, /messages nest more than 100 deep/],
  ];
  for (const [text, line, column, fault] of faults) {
    assert.throws(() => parseTextFormat(text), (error) => {
      assert.ok(error instanceof TextFormatError, String(error));
      assert.match(error.fault, fault);
      assert.deepEqual(error.position, { line, column }, text);
      return true;
    });
  }
});

const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
const values: fc.Arbitrary<TextValue> =
  fc.letrec<{ value: TextValue; field: TextField }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.record({ kind: fc.constant("string" as const), text: fc.string({ unit: "grapheme" }) }),
      fc.record({ kind: fc.constant("number" as const), text: fc.integer().map(String) }),
      fc.record({ kind: fc.constant("identifier" as const), text: names }),
      fc.record({ kind: fc.constant("message" as const), fields: fc.array(tie("field")) }),
    ),
    field: fc.record({ name: names, value: tie("value"), at: fc.constant(0) }),
  })).value;

/** Blanks, comments and separators as `pick` chooses. */
function print(fields: readonly TextField[], pick: () => number): string {
  const blank = () => [" ", "\n", "\t ", " # c {\n"][pick() % 4];
  return fields.map(({ name, value }) => {
    const end = ["", ",", ";"][pick() % 3];
    if (value.kind === "message") {
      const [open, close] = pick() % 2 === 0 ? "{}" : "<>";
      const colon = pick() % 2 === 0 ? ":" : "";
      return name + colon + blank() + open + print(value.fields, pick) + close + end;
    }
    const text = value.kind === "string" ? quoted(value.text, pick) : value.text;
    return `${name}:${blank()}${text}${blank()}${end}`;
  }).join(blank());
}

function quoted(text: string, pick: () => number): string {
  const quote = pick() % 2 === 0 ? '"' : "'";
  const bytes = new TextEncoder().encode(text);
  const octal = (byte: number) => `\\${byte.toString(8).padStart(3, "0")}`;
  if (pick() % 2 === 0) return quote + Array.from(bytes, octal).join("") + quote;
  return quote + text.replace(/[\\'"\n]/g, (c) => octal(c.charCodeAt(0))) + quote;
}

Deno.test("parseTextFormat() reads back whatever is written, in any layout", () => {
  const fields = fc.array(fc.record({ name: names, value: values, at: fc.constant(0) }));
  fc.assert(
    fc.property(fields, fc.array(fc.nat(99), { minLength: 1 }), (fields, choices) => {
      let next = 0;
      const text = print(fields, () => choices[next++ % choices.length]);
      assert.deepEqual(plain(parseTextFormat(text)), plain(fields));
    }),
    { seed: 2, numRuns: 500 },
  );
});

Deno.test("parseTextFormat() fails on nothing but with a place in the text", () => {
  const pieces = fc.constantFrom(
    "a",
    ":",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    '"',
    "'",
    "\\",
    "1",
    "-",
    "#",
    "\n",
    " ",
    ",",
    "é",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      try {
        parseTextFormat(text);
      } catch (error) {
        assert.ok(error instanceof TextFormatError, String(error));
        const lines = text.split("\n");
        assert.ok(error.position.line >= 1 && error.position.line <= lines.length);
        assert.ok(error.position.column <= lines[error.position.line - 1].length + 1);
      }
    }),
    { seed: 3, numRuns: 3000 },
  );
});

Deno.test("positionOf() counts lines and columns from 1", () => {
  assert.deepEqual(positionOf("ab\ncd", 0), { line: 1, column: 1 });
  assert.deepEqual(positionOf("ab\ncd", 2), { line: 1, column: 3 });
  assert.deepEqual(positionOf("ab\ncd", 4), { line: 2, column: 2 });
});
