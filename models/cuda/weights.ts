/**
 * A model's weights on the device, at addresses of their own.
 *
 * @module
 */
import type { ChunkPool } from "../../ffi/cuda/chunk_pool.ts";
import { CudaEvent } from "../../ffi/cuda/event.ts";
import { Stream } from "../../ffi/cuda/stream.ts";
import { VirtualRange } from "../../ffi/cuda/virtual_memory.ts";
import type { PinnedPool } from "./pinned_pool.ts";

/** While one half is on its way to the device, the other is filled. */
const STAGING_BYTES = 4 << 20;

/**
 * Maps memory for weights and fills it, giving way to the event loop meanwhile.
 *
 * @param image At least one byte.
 * @throws {CudaError}
 */
export async function uploadWeights(
  pool: ChunkPool,
  pinned: PinnedPool,
  image: Uint8Array<ArrayBuffer>,
): Promise<VirtualRange> {
  const range = new VirtualRange(pool, image.length);
  try {
    range.resize(image.length);
    await fill(range, pinned, image);
    return range;
  } catch (error) {
    range[Symbol.dispose]();
    throw error;
  }
}

async function fill(
  range: VirtualRange,
  pinned: PinnedPool,
  image: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const { context } = range;
  using parts = new DisposableStack();
  const staging = parts.adopt(
    pinned.take(Math.min(image.length, 2 * STAGING_BYTES)),
    (memory) => pinned.giveBack(memory),
  );
  using first = new CudaEvent(context, { timed: false });
  using second = new CudaEvent(context, { timed: false });
  await using stream = new Stream(context);
  const copied = [first, second];
  for (let at = 0, turn = 0; at < image.length; at += STAGING_BYTES, turn = 1 - turn) {
    if (at >= 2 * STAGING_BYTES) await copied[turn].done();
    const piece = image.subarray(at, at + STAGING_BYTES);
    const start = turn * STAGING_BYTES;
    const half = staging.array.subarray(start, start + piece.length);
    half.set(piece);
    range.write(half, at, stream);
    copied[turn].record(stream);
  }
  await stream.done();
}
