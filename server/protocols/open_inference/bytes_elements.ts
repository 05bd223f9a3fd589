/**
 * BYTES tensors in the protocol's binary form: every element is a 32-bit little-endian length
 * followed by that many bytes. Elements may hold anything, NUL and invalid UTF-8 included.
 *
 * @module
 */
import { concatenate } from "../body.ts";

/** Frames elements. */
export function frameElements(
  elements: readonly Uint8Array<ArrayBuffer>[],
): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let total = 0;
  for (const element of elements) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, element.byteLength, true);
    pieces.push(length, element);
    total += 4 + element.byteLength;
  }
  return concatenate(pieces, total);
}

const encoder = new TextEncoder();
/** Most bytes that one UTF-16 code unit takes. */
const UTF8_BYTES = 3;

/** Frames texts as they come, in one buffer. */
export class TextFramer {
  #bytes = new Uint8Array(1024);
  #lengths = new DataView(this.#bytes.buffer);
  #used = 0;

  /** Adds an element. */
  add(text: string): void {
    this.#reserve(4 + text.length * UTF8_BYTES);
    const bytes = this.#bytes;
    const start = this.#used + 4;
    let end = start;
    // Short and ASCII as a rule: a call of the encoder would cost more, and a view each.
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        end += encoder.encodeInto(text.slice(i), bytes.subarray(end)).written;
        break;
      }
      bytes[end++] = unit;
    }
    this.#lengths.setUint32(this.#used, end - start, true);
    this.#used = end;
  }

  /** All elements so far. */
  data(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#used);
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#lengths = new DataView(grown.buffer);
  }
}

/** The elements as views, or undefined when the lengths do not add up to the data. */
export function unframeElements(
  data: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer>[] | undefined {
  const lengths = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const elements: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  while (at + 4 <= data.byteLength) {
    const end = at + 4 + lengths.getUint32(at, true);
    if (end > data.byteLength) return undefined;
    elements.push(data.subarray(at + 4, end));
    at = end;
  }
  return at === data.byteLength ? elements : undefined;
}

/** How many elements the data holds, or undefined when the lengths do not add up to it. */
export function countElements(data: Uint8Array<ArrayBuffer>): number | undefined {
  const lengths = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let at = 0, count = 0;
  while (at + 4 <= data.byteLength) {
    at += 4 + lengths.getUint32(at, true);
    count++;
  }
  return at === data.byteLength ? count : undefined;
}
