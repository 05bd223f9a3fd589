/**
 * Answers of the simulated device: a deterministic function of the inputs, row by row, so that a
 * test can tell from an answer which request it belongs to, whatever else was in the batch.
 *
 * @module
 */
import { endOfElements, TextFramer } from "../bytes_elements.ts";
import type { Model } from "../model.ts";
import type { Signature, Step } from "../device.ts";
import {
  byteLength,
  type Datatype,
  elementCount,
  type Tensor,
  type TensorShape,
  type TensorSpec,
} from "../tensor.ts";
import { SluiceError } from "../errors.ts";

/**
 * Exact shapes of the outputs for an iteration of these shapes. A free dimension takes the size of
 * an input's dimension of the same name; without one, the first is the batch where the model has
 * a batch, and any other is 1.
 */
export function outputShapes(model: Model, signature: Signature, rows: number): TensorShape[] {
  const named = new Map<string, number>();
  for (const input of signature.inputs) {
    const names = specOf(model, input.name)?.dimNames;
    names?.forEach((name, axis) => {
      if (name !== undefined) named.set(name, input.shape[axis]);
    });
  }
  const batched = model.batching.batchedInputs.includes(true);
  return model.signature.outputs.map(({ name, datatype, shape, dimNames }) => ({
    name,
    datatype,
    shape: shape.map((dim, axis) => {
      if (dim >= 0) return dim;
      const dimName = dimNames?.[axis];
      return (dimName === undefined ? undefined : named.get(dimName)) ??
        (axis === 0 && batched ? rows : 1);
    }),
  }));
}

/**
 * Computes the outputs of a whole batch. An output with the datatype and the number of elements of
 * an input repeats that input; any other holds numbers drawn from a hash of the row's inputs. So do
 * all outputs of a model that carries state, which every answer is to depend on. Floats are finite,
 * booleans 0 or 1, BYTES eight hexadecimal digits.
 *
 * @throws {SluiceError} `execution_failed` when the pieces do not add up to the signature.
 */
export function computeOutputs(model: Model, step: Step): Tensor[] {
  const inputs = joinInputs(step);
  const digests = new RowDigests(model, inputs, step.rows);
  return outputShapes(model, step.signature, step.rows).map((output, index) => {
    const count = elementCount(output.shape);
    const same = model.sequence === undefined &&
      inputs.find((input) =>
        input.datatype === output.datatype && elementCount(input.shape) === count
      );
    if (same) return { ...output, data: same.data.slice() };
    const perRow = output.shape.length > 0 && output.shape[0] === step.rows && digests.batched;
    const elementsPerRow = perRow ? count / Math.max(1, step.rows) : count;
    const element = (position: number) => {
      const row = perRow ? Math.floor(position / elementsPerRow) : undefined;
      const place = perRow ? position % elementsPerRow : position;
      return mix(digests.of(row) + mix(index + 1) + place);
    };
    return { ...output, data: encode(output.datatype, count, element) };
  });
}

function specOf(model: Model, name: string): TensorSpec | undefined {
  return model.signature.inputs.find((spec) => spec.name === name);
}

/**
 * The whole inputs of a step.
 *
 * @throws {SluiceError} `execution_failed` when the pieces do not add up to the signature.
 */
export function joinInputs(step: Step): Tensor[] {
  const { inputs } = step.signature;
  if (step.inputs.length !== inputs.length) {
    throw new SluiceError(
      "execution_failed",
      `The iteration has ${step.inputs.length} inputs, its signature ${inputs.length}`,
    );
  }
  return inputs.map((input, index) => {
    const pieces = step.inputs[index];
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (input.datatype !== "BYTES" && bytes !== byteLength(input.datatype, input.shape)) {
      throw new SluiceError(
        "execution_failed",
        `Input '${input.name}' has ${bytes} bytes; ${input.datatype} of [${input.shape}] takes ` +
          byteLength(input.datatype, input.shape),
      );
    }
    const data = new Uint8Array(bytes);
    let offset = 0;
    for (const piece of pieces) {
      data.set(piece, offset);
      offset += piece.byteLength;
    }
    return { ...input, data };
  });
}

/** One hash per row over what that row was given, computed when first asked for. */
class RowDigests {
  readonly batched: boolean;
  readonly #inputs: readonly { readonly data: Uint8Array; readonly bounds?: readonly number[] }[];
  readonly #known = new Map<number | undefined, number>();

  constructor(model: Model, inputs: readonly Tensor[], rows: number) {
    this.#inputs = inputs.map((input) => {
      const index = model.signature.inputs.findIndex((spec) => spec.name === input.name);
      const isBatched = model.batching.batchedInputs[index] && input.shape[0] === rows && rows > 0;
      return isBatched ? { data: input.data, bounds: rowBounds(input, rows) } : input;
    });
    this.batched = this.#inputs.some((input) => input.bounds !== undefined);
  }

  /** Of one row, or of the whole batch. */
  of(row: number | undefined): number {
    let digest = this.#known.get(row);
    if (digest === undefined) {
      digest = 0x811c9dc5;
      for (const { data, bounds } of this.#inputs) {
        const whole = row === undefined || bounds === undefined;
        const [from, to] = whole ? [0, data.length] : [bounds[row], bounds[row + 1]];
        for (let at = from; at < to; at++) digest = Math.imul(digest ^ data[at], 0x01000193); // FNV-1a
      }
      this.#known.set(row, digest);
    }
    return digest;
  }
}

/** Byte offsets at which each row starts, and the end of the last. */
export function rowBounds(input: Tensor, rows: number): number[] {
  const bounds = [0];
  if (input.datatype !== "BYTES") {
    for (let row = 1; row <= rows; row++) bounds.push(input.data.length / rows * row);
    return bounds;
  }
  const elementsPerRow = elementCount(input.shape) / rows;
  for (let row = 0; row < rows; row++) {
    const end = endOfElements(input.data, bounds[row], elementsPerRow);
    if (end === undefined) throw shortBytes(input);
    bounds.push(end);
  }
  return bounds;
}

function shortBytes(input: Tensor): SluiceError {
  return new SluiceError(
    "execution_failed",
    `Input '${input.name}' ends before its ${elementCount(input.shape)} elements do`,
  );
}

/** Spreads 32 bits over 32 bits (the finaliser of MurmurHash3). */
function mix(bits: number): number {
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

type Write = (view: DataView, offset: number, bits: number) => void;

const write8: Write = (view, offset, bits) => view.setUint8(offset, bits & 0xff);
const write16: Write = (view, offset, bits) => view.setUint16(offset, bits & 0xffff, true);
const write32: Write = (view, offset, bits) => view.setUint32(offset, bits, true);
const write64: Write = (view, offset, bits) => {
  view.setUint32(offset, bits, true);
  view.setUint32(offset + 4, mix(bits), true);
};

/** How 32 random bits become one element. Floats lie in [1, 2): sign and exponent are fixed. */
const WRITE: Record<Exclude<Datatype, "BYTES">, Write> = {
  BOOL: (view, offset, bits) => view.setUint8(offset, bits & 1),
  UINT8: write8,
  UINT16: write16,
  UINT32: write32,
  UINT64: write64,
  INT8: write8,
  INT16: write16,
  INT32: write32,
  INT64: write64,
  FP16: (view, offset, bits) => view.setUint16(offset, 0x3c00 | bits & 0x3ff, true),
  BF16: (view, offset, bits) => view.setUint16(offset, 0x3f80 | bits & 0x7f, true),
  FP32: (view, offset, bits) => view.setUint32(offset, 0x3f800000 | bits & 0x7fffff, true),
  FP64: (view, offset, bits) => view.setFloat64(offset, 1 + bits / 2 ** 32, true),
};

const DIGITS = 8;

function encode(
  datatype: Datatype,
  count: number,
  element: (position: number) => number,
): Uint8Array<ArrayBuffer> {
  if (datatype === "BYTES") {
    const elements = new TextFramer();
    for (let position = 0; position < count; position++) {
      elements.add(element(position).toString(16).padStart(DIGITS, "0"));
    }
    return elements.data();
  }
  const data = new Uint8Array(byteLength(datatype, [count]));
  const view = new DataView(data.buffer);
  const size = byteLength(datatype, [1]);
  const write = WRITE[datatype];
  for (let position = 0; position < count; position++) {
    write(view, position * size, element(position));
  }
  return data;
}
