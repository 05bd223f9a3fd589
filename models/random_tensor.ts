/**
 * Tensors of random values, for trials of models whose real inputs nobody has given.
 *
 * @module
 */
import { TextFramer } from "./bytes_elements.ts";
import {
  byteLength,
  type Datatype,
  DATATYPE_BYTES,
  elementCount,
  type Tensor,
  type TensorShape,
} from "./tensor.ts";
import type { Random } from "./random.ts";

/** Integers stay below this: most models take them as indices of something. */
const INTEGERS_BELOW = 8;

type Writer = (view: DataView, offset: number, random: Random) => void;

const integer = (random: Random) => Math.floor(random() * INTEGERS_BELOW);
const real = (random: Random) => random() * 2 - 1;

const WRITERS: Readonly<Record<Exclude<Datatype, "BYTES">, Writer>> = {
  BOOL: (view, at, random) => view.setUint8(at, random() < 0.5 ? 0 : 1),
  UINT8: (view, at, random) => view.setUint8(at, integer(random)),
  UINT16: (view, at, random) => view.setUint16(at, integer(random), true),
  UINT32: (view, at, random) => view.setUint32(at, integer(random), true),
  UINT64: (view, at, random) => view.setBigUint64(at, BigInt(integer(random)), true),
  INT8: (view, at, random) => view.setInt8(at, integer(random)),
  INT16: (view, at, random) => view.setInt16(at, integer(random), true),
  INT32: (view, at, random) => view.setInt32(at, integer(random), true),
  INT64: (view, at, random) => view.setBigInt64(at, BigInt(integer(random)), true),
  FP16: (view, at, random) => view.setFloat16(at, real(random), true),
  BF16: (view, at, random) => view.setUint16(at, bfloat16(real(random)), true),
  FP32: (view, at, random) => view.setFloat32(at, real(random), true),
  FP64: (view, at, random) => view.setFloat64(at, real(random), true),
};

const scratch = new DataView(new ArrayBuffer(4));

/** The bits of a BF16: the upper half of the FP32 of the same value. */
function bfloat16(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint16(0);
}

/**
 * A tensor of random values: reals in [-1, 1), small integers that are no less than 0, words of
 * lower-case letters.
 */
export function randomTensor({ name, datatype, shape }: TensorShape, random: Random): Tensor {
  if (datatype === "BYTES") {
    return { name, datatype, shape, data: randomWords(elementCount(shape), random) };
  }
  const data = new Uint8Array(byteLength(datatype, shape));
  const view = new DataView(data.buffer);
  const write = WRITERS[datatype];
  for (let at = 0; at < data.length; at += DATATYPE_BYTES[datatype]) write(view, at, random);
  return { name, datatype, shape, data };
}

const WORD_LETTERS = 4;

function randomWords(count: number, random: Random): Uint8Array<ArrayBuffer> {
  const words = new TextFramer();
  for (; count > 0; count--) {
    let word = "";
    for (let i = 0; i < WORD_LETTERS; i++) word += String.fromCharCode(0x61 + random() * 26);
    words.add(word);
  }
  return words.data();
}
