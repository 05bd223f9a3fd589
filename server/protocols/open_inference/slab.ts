/**
 * Small pieces of memory cut from large ones: allocating an ArrayBuffer costs several times what a
 * small tensor's values do. A piece is never given twice; a slab is freed with its last piece.
 *
 * @module
 */

const SLAB_BYTES = 64 * 1024;
/** Larger ones are allocated alone, so that none keeps a slab alive for long. */
const LARGEST_PIECE = 4096;

let slab = new ArrayBuffer(0);
let used = 0;

/** So many bytes of zeros, aligned for any datatype. */
export function allocate(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes > LARGEST_PIECE) return new Uint8Array(bytes);
  if (used + bytes > slab.byteLength) {
    slab = new ArrayBuffer(SLAB_BYTES);
    used = 0;
  }
  const piece = new Uint8Array(slab, used, bytes);
  used += (bytes + 7) & ~7;
  return piece;
}

/** Leaves the current slab to its pieces: before their memory is transferred. */
export function leaveSlab(): void {
  slab = new ArrayBuffer(0);
  used = 0;
}
