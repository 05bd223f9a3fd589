/**
 * ONNX Runtime with nothing around it: the floor under every server.
 *
 * @module
 */
import { Environment } from "../../ffi/onnxruntime/environment.ts";
import { openOnnxRuntime } from "../../ffi/onnxruntime/library.ts";
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import { RunArguments } from "../../ffi/onnxruntime/run.ts";
import { Session } from "../../ffi/onnxruntime/session.ts";
import { wrapTensor } from "../../ffi/onnxruntime/values.ts";
import { ELEMENT_TYPE_OF } from "../../models/cpu/element_types.ts";
import { decodeOnnxFile } from "../../models/onnx/decode.ts";
import { signatureOf } from "../../models/onnx/signature.ts";
import type { Tensor } from "../../models/tensor.ts";

/** How a loop runs. */
export interface BareLoopOptions {
  /** Threads of ONNX Runtime's pool. */
  readonly threads: number;
  /** How long, the warm-up included. */
  readonly seconds: number;
  /** On the calling thread, or on one of the runtime's own with the way there and back. */
  readonly inPlace: boolean;
}

const WARM_UP_SHARE = 0.2;
const ARENA_BYTES = 4 * 2 ** 30;

/**
 * Loads a model, binds its inputs and outputs once, runs it again and again, one run at a time, and
 * frees it. A fifth of the time goes before the count.
 *
 * @returns Runs per second.
 */
export async function bareRate(
  path: string,
  inputs: readonly Tensor[],
  { threads, seconds, inPlace }: BareLoopOptions,
): Promise<number> {
  using cleanup = new DisposableStack();
  const runtime = cleanup.use(openOnnxRuntime());
  const environment = cleanup.use(
    new Environment(runtime, { threads, spin: false, arenaBytes: ARENA_BYTES }),
  );
  const session = cleanup.use(await Session.load(environment, path, { sharedArena: true }));
  const { outputs } = signatureOf(await decodeOnnxFile(path, path), path);
  const run = new RunArguments(
    session,
    inputs.map(({ name }) => name),
    outputs.map(({ name }) => name),
  );
  for (const [i, { datatype, shape, data }] of inputs.entries()) {
    const bytes = stableBytes(data.byteLength);
    bytes.set(data);
    const tensor = wrapTensor(environment, ELEMENT_TYPE_OF[datatype], shape, bytes);
    cleanup.defer(() => (runtime.api.ReleaseValue.call(tensor), void bytes));
    run.setInput(i, tensor);
  }
  // The first run makes the outputs; later ones write to the same.
  run.run();
  for (const i of outputs.keys()) {
    const tensor = run.takeOutput(i);
    run.setOutput(i, tensor);
    cleanup.defer(() => runtime.api.ReleaseValue.call(tensor));
  }

  const loop = async (seconds: number): Promise<number> => {
    const started = performance.now();
    const end = started + seconds * 1000;
    let runs = 0;
    for (; performance.now() < end; runs++) {
      if (inPlace) run.run();
      else await run.runNonblocking();
    }
    return runs / (performance.now() - started) * 1000;
  };
  await loop(seconds * WARM_UP_SHARE);
  return await loop(seconds * (1 - WARM_UP_SHARE));
}
