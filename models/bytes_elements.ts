/**
 * BYTES tensors in the protocol's binary form: every element is a 32-bit little-endian length
 * followed by that many bytes. Elements may hold anything, NUL and invalid UTF-8 included.
 *
 * @module
 */
/** Bytes of the length before each element. */
export const LENGTH_BYTES = 4;

/** Frames elements. */
export function frameElements(elements: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0;
  for (const element of elements) total += LENGTH_BYTES + element.byteLength;
  const data = new Uint8Array(total);
  const lengths = new DataView(data.buffer);
  let at = 0;
  for (const element of elements) {
    lengths.setUint32(at, element.byteLength, true);
    data.set(element, at + LENGTH_BYTES);
    at += LENGTH_BYTES + element.byteLength;
  }
  return data;
}

/**
 * Frames elements that lie together.
 *
 * @param bytes All elements, one after the other.
 * @param starts Where each element starts; the last one ends with `bytes`.
 */
export function frameJoined(
  bytes: Uint8Array<ArrayBuffer>,
  starts: ArrayLike<number>,
): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(bytes.length + LENGTH_BYTES * starts.length);
  const view = new DataView(data.buffer);
  let offset = 0;
  for (let i = 0; i < starts.length; i++) {
    const end = i + 1 < starts.length ? starts[i + 1] : bytes.length;
    view.setUint32(offset, end - starts[i], true);
    data.set(bytes.subarray(starts[i], end), offset + LENGTH_BYTES);
    offset += LENGTH_BYTES + end - starts[i];
  }
  return data;
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
    this.#reserve(LENGTH_BYTES + text.length * UTF8_BYTES);
    const bytes = this.#bytes;
    const start = this.#used + LENGTH_BYTES;
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
  const elements: Uint8Array<ArrayBuffer>[] = [];
  const cursor = new ElementCursor(data);
  while (cursor.next()) elements.push(data.subarray(cursor.start, cursor.end));
  return cursor.end === data.byteLength ? elements : undefined;
}

/** How many elements the data holds, or undefined when the lengths do not add up to it. */
export function countElements(data: Uint8Array<ArrayBuffer>): number | undefined {
  const cursor = new ElementCursor(data);
  let count = 0;
  while (cursor.next()) count++;
  return cursor.end === data.byteLength ? count : undefined;
}

/** How many elements hold a byte of 0. */
export function countElementsWithNul(data: Uint8Array<ArrayBuffer>): number {
  const cursor = new ElementCursor(data);
  let count = 0;
  while (cursor.next()) {
    const nul = data.indexOf(0, cursor.start); // rarely far: the lengths are full of them
    if (nul >= 0 && nul < cursor.end) count++;
  }
  return count;
}

/** Where `count` elements end that start at `from`, or undefined when there are not so many. */
export function endOfElements(
  data: Uint8Array<ArrayBuffer>,
  from: number,
  count: number,
): number | undefined {
  const cursor = new ElementCursor(data, from);
  for (; count > 0; count--) if (!cursor.next()) return undefined;
  return cursor.end;
}

/** Goes from one whole element to the next. */
export class ElementCursor {
  /** Where the element's bytes start. */
  start = 0;
  /** Where they end, and the next element starts. */
  end: number;
  readonly #lengths: DataView;
  readonly #size: number;

  /** Stands before the first element; `end` is where that starts. */
  constructor(data: Uint8Array<ArrayBuffer>, from = 0) {
    this.#lengths = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.#size = data.byteLength;
    this.end = from;
  }

  /** False when no whole element is left. */
  next(): boolean {
    const start = this.end + LENGTH_BYTES;
    if (start > this.#size) return false;
    const end = start + this.#lengths.getUint32(this.end, true);
    if (end > this.#size) return false;
    this.start = start;
    this.end = end;
    return true;
  }
}
