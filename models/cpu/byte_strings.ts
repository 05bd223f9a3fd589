/**
 * BYTES tensors in the protocol's binary form: each element a 32-bit little-endian length, then
 * that many bytes.
 *
 * @module
 */

const LENGTH_BYTES = 4;

/**
 * Elements of a BYTES tensor, as views. Stops at what is not whole: compare the count.
 *
 * @param data May be a piece of a tensor, but no element is split between pieces.
 */
export function* elementsOf(
  data: Uint8Array<ArrayBuffer>,
): Generator<Uint8Array<ArrayBuffer>, void> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let offset = 0;
  while (offset + LENGTH_BYTES <= data.length) {
    const start = offset + LENGTH_BYTES;
    offset = start + view.getUint32(offset, true);
    if (offset > data.length) return;
    yield data.subarray(start, offset);
  }
}

/**
 * A BYTES tensor's data from its elements.
 *
 * @param bytes All elements, one after the other.
 * @param starts Where each element starts; the last one ends with `bytes`.
 */
export function joinElements(
  bytes: Uint8Array<ArrayBuffer>,
  starts: readonly number[],
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
