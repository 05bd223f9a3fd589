/**
 * Places in a lane's working memory for everything that an iteration needs at some time.
 *
 * @module
 */

/** Places are multiples of this: what the widest loads and copies of a device like. */
export const ALIGNMENT = 256;

/** Memory that is needed from one launch to another. */
export interface Lifetime {
  /** Size. */
  readonly bytes: number;
  /** Index of the first launch that uses it. */
  readonly first: number;
  /** Index of the last launch that uses it. */
  readonly last: number;
}

/** Where everything lies. */
export interface MemoryPlan {
  /** One for each lifetime, in their order. */
  readonly offsets: readonly number[];
  /** What all needs together. */
  readonly bytes: number;
}

interface Gap {
  offset: number;
  bytes: number;
}

/**
 * Plans by best fit: whatever comes into use takes the smallest gap among what is used at the same
 * time, and the end only when there is none.
 *
 * @param lifetimes In ascending order of their first use.
 */
export function planMemory(lifetimes: readonly Lifetime[]): MemoryPlan {
  const offsets: number[] = [];
  const used: (Gap & { readonly last: number })[] = [];
  let end = 0;
  for (const { bytes, first, last } of lifetimes) {
    const needed = aligned(bytes);
    for (let i = used.length - 1; i >= 0; i--) if (used[i].last < first) used.splice(i, 1);
    const offset = bestFit(used, needed);
    offsets.push(offset);
    if (needed === 0) continue;
    const place = used.findIndex((other) => other.offset > offset);
    used.splice(place < 0 ? used.length : place, 0, { offset, bytes: needed, last });
    end = Math.max(end, offset + needed);
  }
  return { offsets, bytes: end };
}

/** The next multiple of the alignment. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Offset of the smallest gap between what is used, in the order of its offsets. */
function bestFit(used: readonly Gap[], bytes: number): number {
  let best: Gap = { offset: 0, bytes: Infinity };
  let free = 0;
  for (const { offset, bytes: taken } of used) {
    const gap = { offset: free, bytes: offset - free };
    if (gap.bytes >= bytes && gap.bytes < best.bytes) best = gap;
    free = offset + taken;
  }
  return best.bytes === Infinity ? free : best.offset;
}
