/**
 * The gateway that the clients talk to, and the models it serves.
 *
 * @module
 */
import { type Datatype, DATATYPE_BYTES } from "../../../models/tensor.ts";
import { resolveConfig } from "../../../server/config.ts";
import { startGateway } from "../../../server/main.ts";
import {
  addModel,
  gatherModel,
  identityModel,
  mlpModel,
  scaleModel,
  truncated,
} from "../../fixtures/onnx.ts";
import { onnxModel } from "../../fixtures/onnx_writer.ts";
import { repositoryWith } from "../../fixtures/repository.ts";

/** Largest body that the gateway takes, bytes: above a form that Triton's parser dies of. */
export const MAX_BODY_BYTES = 24 * 1024 * 1024;

/** Configuration of a batching model whose answer is its input, with labels. */
export const SCORES_CONFIG = `
max_batch_size: 8
input [{ name: "x" data_type: TYPE_FP32 dims: [ 4 ] }]
output [{ name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" }]
dynamic_batching { }
`;

/** Its labels. */
export const SCORES_LABELS = "ant\nbee\ncat\ndog\n";

/** A gateway on a free port. */
export interface ClientGateway extends AsyncDisposable {
  /** Host and port, as Triton's clients want it. */
  readonly address: string;
}

/** Starts the gateway over a temporary repository; disposing of it removes both. */
export async function startClientGateway(): Promise<ClientGateway> {
  const parts = new AsyncDisposableStack();
  try {
    const { path } = parts.use(await repositoryWith(repositoryFiles()));
    const settings = { port: 0, repository: path, device: "cpu", maxBody: MAX_BODY_BYTES } as const;
    const gateway = await startGateway(resolveConfig(settings));
    parts.defer(() => gateway.shutdown().then(() => {}));
    return {
      address: `127.0.0.1:${gateway.port}`,
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

/** An identity of every datatype under the datatype's name, and a model for each further feature. */
function repositoryFiles(): Record<string, string | Uint8Array> {
  const datatypes = Object.keys(DATATYPE_BYTES) as Datatype[];
  return {
    ...Object.fromEntries(
      datatypes.map((datatype) => [`${datatype}/1/model.onnx`, identityModel(datatype, ["n"])]),
    ),
    "add/1/model.onnx": addModel(),
    "gather/1/model.onnx": gatherModel(),
    "broken/1/model.onnx": truncated(addModel()),
    "versions/1/model.onnx": scaleModel(1),
    "versions/2/model.onnx": scaleModel(2),
    "versions/config.pbtxt": "version_policy { all {} }\n",
    "total/1/model.onnx": totalModel(),
    "total/config.pbtxt": `
      max_batch_size: 8
      input [{ name: "x" data_type: TYPE_FP32 dims: [ 2 ] }]
      output [{ name: "y" data_type: TYPE_FP32 dims: [ 2 ] }]
      sequence_batching {
        state [{
          input_name: "total" output_name: "total_next" data_type: TYPE_FP32 dims: [ 2 ]
        }]
      }
    `,
    "voice/1/model.onnx": totalModel(),
    "voice/manifest.json": JSON.stringify({ carry: { total_next: "total" } }),
    "scores/1/model.onnx": identityModel(),
    "scores/config.pbtxt": SCORES_CONFIG,
    "scores/labels.txt": SCORES_LABELS,
    "mlp/1/model.onnx": mlpModel(),
    "mlp/labels.txt": Array.from({ length: 10 }, (_, digit) => `digit ${digit}\n`).join(""),
    "mlp/config.pbtxt": `
      name: "mlp"
      max_batch_size: 8
      input [{ name: "x" data_type: TYPE_FP32 dims: [ 784 ] }]
      output [{ name: "y" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" }]
      dynamic_batching { }
    `,
  };
}

/** `y` = `x` and all that came before it; `total_next`, which is the same, becomes `total`. */
function totalModel(): Uint8Array<ArrayBuffer> {
  const row = (name: string) => ({ name, datatype: "FP32" as const, shape: ["batch", 2] });
  return onnxModel({
    inputs: [row("x"), row("total")],
    outputs: [row("y"), row("total_next")],
    nodes: [
      { op: "Add", inputs: ["x", "total"], outputs: ["y"] },
      { op: "Identity", inputs: ["y"], outputs: ["total_next"] },
    ],
  });
}
