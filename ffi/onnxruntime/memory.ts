/**
 * Host memory whose address ONNX Runtime may keep, and text as C wants it.
 *
 * @module
 */

/**
 * Bytes that stay where they are for as long as the returned view is referenced. An `ArrayBuffer`
 * of its own always lies outside V8's heap, where nothing moves it; never empty, so that it has an
 * address.
 */
export function stableBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(Math.max(length, 64)), 0, length);
}

/** Address of stable bytes. */
export function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
}

const ENCODER = new TextEncoder();

/** Text as a NUL-terminated string in stable memory. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  const encoded = ENCODER.encode(text);
  const bytes = stableBytes(encoded.length + 1);
  bytes.set(encoded);
  return bytes;
}

/** Several strings and an array of their addresses, `const char* const*`. */
export class CStringArray {
  readonly #strings: readonly Uint8Array<ArrayBuffer>[];
  /** The addresses, in stable memory. */
  readonly addresses: Uint8Array<ArrayBuffer>;

  /** Copies the texts. */
  constructor(texts: readonly string[]) {
    this.#strings = texts.map(cString);
    this.addresses = wordArray(this.#strings.map(addressOf));
  }

  /** Number of strings. */
  get length(): number {
    return this.#strings.length;
  }
}

/** 64-bit words (`size_t`, `int64_t` or pointers) in stable memory. */
export function wordArray(words: readonly (number | bigint)[]): Uint8Array<ArrayBuffer> {
  const bytes = stableBytes(words.length * 8);
  new BigInt64Array(bytes.buffer, 0, words.length).set(
    words.map((w) => BigInt.asIntN(64, BigInt(w))),
  );
  return bytes;
}
