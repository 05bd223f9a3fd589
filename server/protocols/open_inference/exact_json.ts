/**
 * A JSON reader for the requests that `JSON.parse` would spoil: integers beyond 2^53 stay exact (as
 * bigint, as far as there is a datatype for them), and the bare `NaN`, `Infinity` and `-Infinity` of
 * Triton's dialect are numbers. It keeps its own stack, so depth costs memory and nothing else.
 * Everything else goes through `JSON.parse`, which is several times faster.
 *
 * Grammar: RFC 8259 plus the three bare words.
 *
 * @module
 */

/** Whether `text` may hold something that `JSON.parse` refuses or rounds. */
export function needsExactJson(text: string): boolean {
  return text.includes("NaN") || text.includes("Infinity") ||
    (text.includes("INT64") && /[^.\d]\d{16}/.test(text));
}

/**
 * Parses `text`. Integers of at most 20 characters outside the safe range are bigints, all other
 * numbers are numbers.
 *
 * @throws {SyntaxError} With the position of the fault.
 */
export function parseExactJson(text: string): unknown {
  return new Reader(text).document();
}

type Fields = Record<string, unknown>;
type Frame = { readonly array: unknown[] } | { readonly fields: Fields; key: string };

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;
/** Digits that always fit a double exactly. */
const SAFE_DIGITS = 15;
/** Digits and sign of the longest integer that any datatype holds; reading a bigint is quadratic. */
const LONGEST_INTEGER = 20;

class Reader {
  #at = 0;
  constructor(readonly text: string) {}

  document(): unknown {
    const stack: Frame[] = [];
    for (;;) {
      let value = this.#value(stack);
      if (value === OPENED) continue;
      for (;;) {
        const frame = stack.at(-1);
        if (frame === undefined) {
          if (this.#peek() !== "") this.#fail();
          return value;
        }
        if ("array" in frame) frame.array.push(value);
        else frame.fields[frame.key] = value;
        const next = this.#peek();
        if (next === ",") {
          this.#at++;
          if ("fields" in frame) frame.key = this.#key();
          break;
        }
        if (next !== ("array" in frame ? "]" : "}")) this.#fail();
        this.#at++;
        stack.pop();
        value = "array" in frame ? frame.array : frame.fields;
      }
    }
  }

  /** One whole value, or {@linkcode OPENED} after pushing a container that is not empty. */
  #value(stack: Frame[]): unknown {
    switch (this.#peek()) {
      case "[": {
        const array: unknown[] = [];
        this.#at++;
        if (this.#peek() === "]") {
          this.#at++;
          return array;
        }
        stack.push({ array });
        return OPENED;
      }
      case "{": {
        const fields: Fields = Object.create(null);
        this.#at++;
        if (this.#peek() === "}") {
          this.#at++;
          return fields;
        }
        stack.push({ fields, key: this.#key() });
        return OPENED;
      }
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  /** Skips white space; the character there, or "" at the end. */
  #peek(): string {
    const { text } = this;
    let code = text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      code = text.charCodeAt(++this.#at);
    }
    return text.charAt(this.#at);
  }

  #key(): string {
    if (this.#peek() !== '"') this.#fail();
    const key = this.#string();
    if (this.#peek() !== ":") this.#fail();
    this.#at++;
    return key;
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    for (;;) {
      const code = this.text.charCodeAt(end);
      if (code !== code) this.#fail(end);
      if (code === 0x22) break;
      end += code === 0x5c ? 2 : 1;
    }
    this.#at = end + 1;
    try {
      return JSON.parse(this.text.slice(start, end + 1));
    } catch {
      return this.#fail(start);
    }
  }

  #scalar(): unknown {
    const start = this.#at;
    let end = start;
    while (isScalarCode(this.text.charCodeAt(end))) end++;
    const word = this.text.slice(start, end);
    this.#at = end;
    if (NUMBER.test(word)) {
      if (word.length > SAFE_DIGITS && word.length <= LONGEST_INTEGER && INTEGER.test(word)) {
        const integer = BigInt(word);
        const rounded = Number(integer);
        return Number.isSafeInteger(rounded) ? rounded : integer;
      }
      const number = Number(word);
      if (!Number.isFinite(number)) this.#fail(start, `the number ${word} is out of range`);
      return number;
    }
    if (WORDS.has(word)) return WORDS.get(word);
    return this.#fail(start);
  }

  #fail(at = this.#at, what?: string): never {
    const found = at < this.text.length ? `character ${JSON.stringify(this.text[at])}` : "end";
    throw new SyntaxError(`${what ?? `unexpected ${found}`} at position ${at}`);
  }
}

const OPENED = Symbol("a container was opened");

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);

/** Letters, digits, `+`, `-` and `.`: what numbers and bare words are made of. */
function isScalarCode(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) || code === 0x2b || code === 0x2d || code === 0x2e;
}
