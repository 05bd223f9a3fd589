/**
 * Random steps on ranges of addresses and their pool of chunks, each compared with a model.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Context } from "../../ffi/cuda/context.ts";
import { CudaDevice } from "../../ffi/cuda/device.ts";
import { openDriver } from "../../ffi/cuda/driver.ts";
import { type Random, seededRandom } from "../../models/random.ts";
import { VirtualMemoryModel, type VirtualMemoryStep } from "../ffi/cuda/virtual_memory_model.ts";
import { softwareGpu, withFreshDevice } from "../fixtures/software_gpu.ts";

const CHUNK_BYTES = 2 << 20;
const CHUNKS = 32; // few, so that there is often too little memory
const CONTENTS_EVERY = 100;

/**
 * Takes so many steps on a software GPU, and says so.
 *
 * @throws {assert.AssertionError} When the device or the binding does what the model does not.
 */
export async function runRanges(steps: number, seed: number): Promise<string> {
  assert.ok(softwareGpu !== undefined, "There is no C++ compiler to build the software GPU with");
  await withFreshDevice(softwareGpu, ({ path, control }) => {
    control.configure({ memoryBytes: CHUNKS * CHUNK_BYTES });
    using driver = openDriver(path);
    using context = new Context(new CudaDevice(driver, 0));
    takeSteps(context, steps, seededRandom(seed));
  });
  return `${steps} steps as the model says`;
}

function takeSteps(context: Context, steps: number, random: Random): void {
  using model = new VirtualMemoryModel(context);
  for (let step = 1; step <= steps; step++) {
    model.apply(randomStep(random));
    if (step % CONTENTS_EVERY === 0) model.checkContents();
  }
}

function randomStep(random: Random): VirtualMemoryStep {
  const below = (limit: number) => Math.floor(random() * limit);
  const range = below(1000);
  const kind = random();
  if (kind < 0.05) return { kind: "reserve", chunks: 1 + below(12) };
  if (kind < 0.1) return { kind: "dispose", range };
  if (kind < 0.15) return { kind: "trim", kept: below(8) };
  if (kind < 0.5) return { kind: "write", range, chunk: below(1000), value: below(2 ** 32) };
  return { kind: "resize", range, chunks: below(1000), less: below(CHUNK_BYTES) };
}
