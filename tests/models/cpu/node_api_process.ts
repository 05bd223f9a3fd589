/**
 * Runs models in onnxruntime-node and ends: a process of its own, since ONNX Runtime keeps one
 * environment per process, and the first to ask for one decides on its threads.
 *
 * Reads {@linkcode NodeApiRequest} as JSON from its standard input and writes the outputs of each
 * run as JSON.
 */
import { Buffer } from "node:buffer";
import { InferenceSession, Tensor } from "onnxruntime-node";

/** A tensor in JSON. */
export interface TensorText {
  readonly name: string;
  /** As onnxruntime-node calls it, e.g. `float32`. */
  readonly type: "float32" | "int64";
  readonly shape: readonly number[];
  readonly base64: string;
}

/** A model and the requests to run on it, one after the other. */
export interface NodeApiRequest {
  readonly model: string;
  readonly requests: readonly (readonly TensorText[])[];
}

const ARRAYS = { float32: Float32Array, int64: BigInt64Array };

if (import.meta.main) {
  const input: NodeApiRequest = await new Response(Deno.stdin.readable).json();
  const session = await InferenceSession.create(Uint8Array.fromBase64(input.model), {
    intraOpNumThreads: 1,
    logSeverityLevel: 3, // errors: a model may have weights that it does not use
  });
  const answers: TensorText[][] = [];
  for (const request of input.requests) {
    const feeds: Record<string, Tensor> = {};
    for (const { name, type, shape, base64 } of request) {
      const { buffer } = Uint8Array.fromBase64(base64);
      feeds[name] = new Tensor(type, new ARRAYS[type](buffer), shape);
    }
    const outputs = await session.run(feeds);
    answers.push(session.outputNames.map((name) => {
      const { type, dims, data } = outputs[name];
      if (type !== "float32" && type !== "int64") throw new TypeError(`No text for ${type}`);
      const bytes = data as Float32Array | BigInt64Array;
      const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return { name, type, shape: dims, base64: base64.toString("base64") };
    }));
  }
  console.log(JSON.stringify(answers));
}
