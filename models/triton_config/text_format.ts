/**
 * Reads protobuf's text format into fields and values, without a schema. Every field keeps the
 * place it was written at, so that whoever gives it a meaning can say where it is wrong.
 *
 * @see https://protobuf.dev/reference/protobuf/textformat-spec/
 * @module
 */

/** A place in the text; both count from 1. */
export interface Position {
  /** Line, from 1. */
  readonly line: number;
  /** Column in UTF-16 units, from 1. */
  readonly column: number;
}

/** What stands to the right of a field's name. */
export type TextValue =
  | { readonly kind: "string"; readonly text: string }
  /** As written: decimal, hexadecimal, octal, with a sign or an exponent. */
  | { readonly kind: "number"; readonly text: string }
  /** An enum's name, `true`, `inf`, ...; with a sign where one was written. */
  | { readonly kind: "identifier"; readonly text: string }
  | { readonly kind: "message"; readonly fields: readonly TextField[] };

/** One `name: value`. A list gives one field for each of its elements. */
export interface TextField {
  /** The field's name. */
  readonly name: string;
  /** Its value. */
  readonly value: TextValue;
  /** Offset of the name or, in a list, of the element; see {@linkcode positionOf}. */
  readonly at: number;
}

/** Line and column of an offset. */
export function positionOf(text: string, at: number): Position {
  const before = text.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}

/** The text breaks the format's rules. */
export class TextFormatError extends Error {
  /** The error's name. */
  override readonly name = "TextFormatError";
  /** Made while parsing. */
  constructor(
    /** What is wrong, a phrase without place. */
    readonly fault: string,
    /** Where. */
    readonly position: Position,
  ) {
    super(`Line ${position.line}, column ${position.column}: ${fault}`);
  }
}

/** As deep as protobuf's own parsers go. */
const DEEPEST_NESTING = 100;

const BLANK = /(?:[ \t\r\n\v\f]|#[^\n]*)+/y;
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:0[xX][0-9A-Fa-f]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?)/y;
const STRING = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'/y;
const ESCAPE =
  /\\(?:([abfnrtv?'"\\])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)/y;

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "?": 63,
  "'": 39,
  '"': 34,
  "\\": 92,
};

/**
 * Parses a message in text format.
 *
 * @throws {TextFormatError} Where the text breaks the rules.
 */
export function parseTextFormat(text: string): readonly TextField[] {
  return new Parser(text).file();
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#at = 1;
  }

  file(): TextField[] {
    this.#skipBlank();
    return this.#fields(undefined, 0);
  }

  /** Fields up to the closing bracket, or to the end of the text when none is expected. */
  #fields(close: string | undefined, depth: number): TextField[] {
    if (depth > DEEPEST_NESTING) this.#fail(`messages nest more than ${DEEPEST_NESTING} deep`);
    const fields: TextField[] = [];
    for (;;) {
      if (this.#at >= this.#text.length) {
        if (close === undefined) return fields;
        this.#fail(`the text ends where "${close}" was expected`);
      }
      if (close !== undefined && this.#accept(close)) return fields;
      this.#field(fields, depth);
      if (!this.#accept(",")) this.#accept(";");
    }
  }

  #field(into: TextField[], depth: number): void {
    const at = this.#at;
    if (this.#text[this.#at] === "[") this.#fail("extensions and Any values are not understood");
    const name = this.#match(IDENTIFIER) ??
      this.#fail(`a field's name was expected, not ${this.#found()}`);
    const colon = this.#accept(":");
    if (this.#accept("[")) {
      if (this.#accept("]")) return;
      do {
        const elementAt = this.#at;
        into.push({ name, value: this.#value(depth, true, name), at: elementAt });
      } while (this.#accept(","));
      if (!this.#accept("]")) this.#fail(`"," or "]" was expected, not ${this.#found()}`);
      return;
    }
    into.push({ name, value: this.#value(depth, colon, name), at });
  }

  #value(depth: number, scalarAllowed: boolean, name: string): TextValue {
    if (this.#accept("{")) return { kind: "message", fields: this.#fields("}", depth + 1) };
    if (this.#accept("<")) return { kind: "message", fields: this.#fields(">", depth + 1) };
    if (!scalarAllowed) this.#fail(`":" or "{" was expected after "${name}", not ${this.#found()}`);
    const quote = this.#text[this.#at];
    if (quote === '"' || quote === "'") return { kind: "string", text: this.#strings() };
    const sign = this.#accept("-") ? "-" : "";
    const number = this.#match(NUMBER);
    if (number !== undefined) return { kind: "number", text: sign + number };
    const identifier = this.#match(IDENTIFIER);
    if (identifier !== undefined) return { kind: "identifier", text: sign + identifier };
    return this.#fail(`a value was expected for "${name}", not ${this.#found()}`);
  }

  /** Strings that follow one another are one. */
  #strings(): string {
    const bytes: number[] = [];
    const start = this.#at;
    while (this.#text[this.#at] === '"' || this.#text[this.#at] === "'") {
      const at = this.#at;
      const literal = this.#match(STRING) ?? this.#fail("a string is not closed on its line");
      this.#unescape(literal.slice(1, -1), at + 1, bytes);
    }
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
    } catch {
      return this.#fail("a string's escapes are not UTF-8", start);
    }
  }

  #unescape(literal: string, at: number, bytes: number[]): void {
    const encoder = new TextEncoder();
    let i = 0;
    while (i < literal.length) {
      const next = literal.indexOf("\\", i);
      const plain = literal.slice(i, next < 0 ? undefined : next);
      bytes.push(...encoder.encode(plain));
      if (next < 0) return;
      ESCAPE.lastIndex = next;
      const [all, simple, octal, hex, short, long] = ESCAPE.exec(literal)!;
      if (simple !== undefined) bytes.push(SIMPLE_ESCAPES[simple]);
      else if (octal !== undefined) bytes.push(parseInt(octal, 8) & 0xff);
      else if (hex !== undefined) bytes.push(parseInt(hex, 16));
      else {
        const codePoint = parseInt(short ?? long ?? "", 16);
        if (!(codePoint <= 0x10ffff)) this.#fail("an escape in a string is unknown", at + next);
        bytes.push(...encoder.encode(String.fromCodePoint(codePoint)));
      }
      i = next + all.length;
    }
  }

  #accept(punctuation: string): boolean {
    if (this.#text[this.#at] !== punctuation) return false;
    this.#at++;
    this.#skipBlank();
    return true;
  }

  /** Takes a token; words and numbers must not run into one another. */
  #match(token: RegExp): string | undefined {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text)?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    if (token !== STRING && /[A-Za-z0-9_.]/.test(this.#text[this.#at] ?? "")) {
      this.#fail(`a blank was expected after "${found}"`);
    }
    this.#skipBlank();
    return found;
  }

  #skipBlank(): void {
    BLANK.lastIndex = this.#at;
    this.#at += BLANK.exec(this.#text)?.[0].length ?? 0;
  }

  #found(): string {
    const character = this.#text.codePointAt(this.#at);
    return character === undefined
      ? "the end of the text"
      : JSON.stringify(String.fromCodePoint(character));
  }

  #fail(fault: string, at = this.#at): never {
    throw new TextFormatError(fault, positionOf(this.#text, at));
  }
}
