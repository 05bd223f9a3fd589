/**
 * What a file's graph asks for and gives, in the protocol's terms.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { ModelSignature } from "../model.ts";
import type { TensorSpec } from "../tensor.ts";
import type { OnnxFile, ValueDeclaration } from "./decode.ts";
import { datatypeOf, elementTypeName } from "./element_types.ts";

/** Since this format version an input with an initialiser is one that a request may leave out. */
const FIRST_IR_WITH_OPTIONAL_INPUTS = 4;

/**
 * Inputs and outputs of a model, in the file's order. Before format version 4 every initialiser had
 * to be listed as an input and none could be replaced: those are constants, no inputs.
 *
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument` when an input cannot be sent or no output is a tensor.
 */
export function signatureOf(file: OnnxFile, fileName: string): ModelSignature {
  const inputs: TensorSpec[] = [];
  for (const declaration of file.inputs) {
    const hasDefault = file.initializers.has(declaration.name);
    if (hasDefault && file.irVersion < FIRST_IR_WITH_OPTIONAL_INPUTS) continue;
    const spec = tensorSpec(declaration);
    if (spec === undefined) {
      throw new SluiceError(
        "invalid_argument",
        `${fileName} cannot be served: input "${declaration.name}" is ${describe(declaration)}, ` +
          "and requests carry tensors of the protocol's datatypes only",
      );
    }
    inputs.push(hasDefault ? { ...spec, optional: true } : spec);
  }
  const outputs: TensorSpec[] = [];
  const notServed: string[] = [];
  for (const declaration of file.outputs) {
    const spec = tensorSpec(declaration);
    if (spec === undefined) notServed.push(declaration.name);
    else outputs.push(spec);
  }
  if (outputs.length === 0) {
    const given = file.outputs.map((output) => `"${output.name}" is ${describe(output)}`);
    throw new SluiceError(
      "invalid_argument",
      `${fileName} cannot be served: it has no tensor output (${
        given.join(", ") || "none at all"
      })`,
    );
  }
  return { inputs, outputs, notServed };
}

function tensorSpec(declaration: ValueDeclaration): TensorSpec | undefined {
  const datatype = datatypeOf(declaration.elementType);
  if (declaration.kind !== "tensor" || datatype === undefined) return undefined;
  const { name, dims } = declaration;
  if (dims === undefined) return { name, datatype, shape: [], unranked: true };
  const shape = dims.map((dim) => typeof dim === "number" ? dim : -1);
  if (!dims.some((dim) => typeof dim === "string" && dim !== "")) return { name, datatype, shape };
  const dimNames = dims.map((dim) => typeof dim === "string" && dim !== "" ? dim : undefined);
  return { name, datatype, shape, dimNames };
}

function describe(declaration: ValueDeclaration): string {
  if (declaration.kind !== "tensor") return `a ${declaration.kind}`;
  return `a tensor of ${elementTypeName(declaration.elementType)}`;
}

/** Operators that take a scale from all the values they see, so from all requests of a batch. */
const SCALES_OVER_THE_BATCH = [
  "DynamicQuantizeLinear",
  "com.microsoft:DynamicQuantizeMatMul",
  "com.microsoft:DynamicQuantizeLSTM",
];

/** Whether joining requests would move their answers because values are quantised on the way. */
export function isDynamicallyQuantised(file: OnnxFile): boolean {
  return SCALES_OVER_THE_BATCH.some((operator) => file.operators.has(operator));
}
