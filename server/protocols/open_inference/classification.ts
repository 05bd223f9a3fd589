/**
 * Triton's classification extension: the largest values of an output as BYTES
 * `"value:index[:label]"`, sorted descending.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { Model } from "../../../models/model.ts";
import { TextFramer } from "../../../models/bytes_elements.ts";
import type { Datatype, Tensor } from "../../../models/tensor.ts";
import {
  isNumeric,
  isReal,
  NUMERIC_DATATYPES,
  readNumbers,
} from "../../../models/tensor_values.ts";
import { largest } from "./largest.ts";

/**
 * Refuses what has no numeric order.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkClassification(name: string, datatype: Datatype): void {
  if (isNumeric(datatype)) return;
  throw new SluiceError(
    "invalid_argument",
    `Output '${name}' has datatype ${datatype}, which cannot be classified; ` +
      `expected one of ${NUMERIC_DATATYPES.join(", ")}`,
  );
}

/** How an output is to be classified: plain data, which a Worker can be given. */
export interface Classification {
  /** So many of the largest values. */
  readonly classes: number;
  /** Whether the leading dimension counts rows. */
  readonly byRow: boolean;
  /** Names of the values, where there are any. */
  readonly labels?: readonly string[];
}

/**
 * The classification of an output of a model.
 *
 * @param index Place of the output in the model's signature: its leading dimension counts rows where
 *   the model leaves it free.
 */
export function classificationOf(model: Model, index: number, classes: number): Classification {
  const { name, shape } = model.signature.outputs[index];
  const byRow = model.maxBatchSize > 0 || (shape.length > 1 && shape[0] === -1);
  return { classes, byRow, labels: model.labels.get(name) };
}

/**
 * The largest values of every row.
 *
 * @returns BYTES of shape `[rows, min(classes, values)]`, or without rows where there are none.
 */
export function classify(tensor: Tensor, how: Classification): Tensor {
  const { classes, labels } = how;
  const byRow = how.byRow && tensor.shape.length > 0;
  const { datatype } = tensor;
  if (!isNumeric(datatype)) throw new TypeError(`${datatype} has no numeric order`);
  const values = readNumbers(datatype, tensor.data);
  const rows = byRow ? tensor.shape[0] : 1;
  const width = rows === 0 ? 0 : values.length / rows;
  const taken = Math.min(classes, width);
  const print = isReal(datatype) ? (value: number | bigint) => fixed(Number(value)) : String;
  const elements = new TextFramer();
  for (let row = 0; row < rows; row++) {
    const start = row * width;
    for (const place of largest(values, start, width, taken)) {
      const label = labels?.[place - start];
      const text = `${print(values[place])}:${place - start}`;
      elements.add(label === undefined ? text : `${text}:${label}`);
    }
  }
  return {
    name: tensor.name,
    datatype: "BYTES",
    shape: byRow ? [rows, taken] : [taken],
    data: elements.data(),
  };
}

/** C's `%f`. */
function fixed(value: number): string {
  if (value !== value) return "nan";
  if (value === Infinity || value === -Infinity) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value) < 1e21) return (Object.is(value, -0) ? "-" : "") + value.toFixed(6);
  return `${BigInt(value)}.000000`;
}
