/**
 * Reads a model's graph and checks that the device runs it.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { Model } from "../model.ts";
import { labelOf, readExternalData, withContent } from "../model_file.ts";
import { decodeOnnx, refusal } from "../onnx/decode.ts";
import { decodeGraph, type Initializer } from "../onnx/graph.ts";
import { byteLength, type Tensor, zeroTensor } from "../tensor.ts";
import { planIteration } from "./lowering.ts";
import { type PreparedGraph, prepareGraph } from "./prepare.ts";

/**
 * The graph of a model, ready to be planned.
 *
 * @throws {SluiceError} `unsupported`, naming what the device does not do and where;
 *   `invalid_argument` when the file is no model.
 */
export async function stagedGraph(model: Model): Promise<PreparedGraph> {
  const label = labelOf(model);
  checkServed(model);
  try {
    const graph = await withContent(
      model,
      (content, fileName) => prepared(model, content, fileName),
    );
    tryPlan(model, graph);
    return graph;
  } catch (error) {
    if (!(error instanceof SluiceError) || error.message.startsWith(label)) throw error;
    throw new SluiceError(error.code, `${label}: ${error.message}`, { cause: error });
  }
}

function checkServed(model: Model): void {
  const refuse = (why: string) =>
    new SluiceError("unsupported", `${labelOf(model)} ${why}; --device cpu does`);
  if (model.sequence !== undefined) {
    throw refuse("carries state from one iteration to the next, which the cuda device does not");
  }
  for (const { name, datatype } of [...model.signature.inputs, ...model.signature.outputs]) {
    if (datatype !== "BYTES") continue;
    throw refuse(`has strings in "${name}", which the cuda device does not run on`);
  }
}

async function prepared(
  model: Model,
  content: Uint8Array<ArrayBuffer>,
  fileName: string,
): Promise<PreparedGraph> {
  decodeOnnx(content, fileName);
  const graph = decodeGraph(content, fileName);
  try {
    return await prepareGraph(graph, model.signature, (constant) => read(model, constant));
  } catch (error) {
    throw refusal(error, content, fileName);
  }
}

async function read(model: Model, constant: Initializer): Promise<Tensor> {
  const { external, shape } = constant.header;
  if (external === undefined) return constant.tensor();
  const { datatype } = constant;
  return constant.tensor(await readExternalData(model, external, byteLength(datatype, shape)));
}

/** What no shapes can change is said now; whether shapes go together, when there are real ones. */
function tryPlan({ signature, samples: [sample] }: Model, graph: PreparedGraph): void {
  const inputs = sample ??
    signature.inputs.filter(({ optional }) => !optional).map((spec) => zeroTensor(spec));
  const isFree = signature.inputs.some(({ shape, unranked }) => unranked || shape.includes(-1));
  try {
    planIteration(graph, { key: "trial", inputs }, signature.outputs);
  } catch (error) {
    if (!isFree || error instanceof SluiceError && error.code === "unsupported") throw error;
  }
}
