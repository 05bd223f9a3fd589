/**
 * Triton's classification extension: the largest values of an output as BYTES
 * `"value:index[:label]"`, sorted descending.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { Model } from "../../../models/model.ts";
import { type Datatype, DATATYPE_BYTES, type Tensor } from "../../../models/tensor.ts";
import { TextFramer } from "./bytes_elements.ts";
import { largest, type Values } from "./largest.ts";

/**
 * Refuses what has no numeric order.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkClassification(name: string, datatype: Datatype): void {
  if (READ[datatype] !== undefined) return;
  throw new SluiceError(
    "invalid_argument",
    `Output '${name}' has datatype ${datatype}, which cannot be classified; ` +
      `expected one of ${Object.keys(READ).join(", ")}`,
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
  const read = READ[tensor.datatype];
  if (read === undefined) throw new TypeError(`${tensor.datatype} has no numeric order`);
  const values = read(tensor.data);
  const rows = byRow ? tensor.shape[0] : 1;
  const width = rows === 0 ? 0 : values.length / rows;
  const taken = Math.min(classes, width);
  const print = FLOATS.has(tensor.datatype)
    ? (value: number | bigint) => fixed(Number(value))
    : String;
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

/** C prints their values with `%f`. */
const FLOATS: ReadonlySet<Datatype> = new Set(["FP16", "BF16", "FP32", "FP64"]);

/** C's `%f`. */
function fixed(value: number): string {
  if (value !== value) return "nan";
  if (value === Infinity || value === -Infinity) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value) < 1e21) return (Object.is(value, -0) ? "-" : "") + value.toFixed(6);
  return `${BigInt(value)}.000000`;
}

function read<T extends Values>(
  datatype: Datatype,
  view: (buffer: ArrayBuffer, offset: number, length: number) => T,
): (data: Uint8Array<ArrayBuffer>) => T {
  const size = DATATYPE_BYTES[datatype];
  return (data) => {
    const { buffer, byteOffset, byteLength } = data.byteOffset % size === 0 ? data : data.slice();
    return view(buffer, byteOffset, byteLength / size);
  };
}

/** BF16 is the upper half of an FP32. */
function widenBf16(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length);
  for (let i = 0; i < bits.length; i++) bits[i] = halves[i] << 16;
  return new Float32Array(bits.buffer);
}

const READ: { readonly [datatype in Datatype]?: (data: Uint8Array<ArrayBuffer>) => Values } = {
  UINT8: read("UINT8", (b, o, n) => new Uint8Array(b, o, n)),
  UINT16: read("UINT16", (b, o, n) => new Uint16Array(b, o, n)),
  UINT32: read("UINT32", (b, o, n) => new Uint32Array(b, o, n)),
  UINT64: read("UINT64", (b, o, n) => new BigUint64Array(b, o, n)),
  INT8: read("INT8", (b, o, n) => new Int8Array(b, o, n)),
  INT16: read("INT16", (b, o, n) => new Int16Array(b, o, n)),
  INT32: read("INT32", (b, o, n) => new Int32Array(b, o, n)),
  INT64: read("INT64", (b, o, n) => new BigInt64Array(b, o, n)),
  FP16: read("FP16", (b, o, n) => new Float16Array(b, o, n)),
  BF16: read("BF16", (b, o, n) => widenBf16(new Uint16Array(b, o, n))),
  FP32: read("FP32", (b, o, n) => new Float32Array(b, o, n)),
  FP64: read("FP64", (b, o, n) => new Float64Array(b, o, n)),
};
