/**
 * Tensors as ONNX files keep them: `TensorProto`, whose values lie in one of seven fields, raw or by
 * their type.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
 * @module
 */
import { byteLength, type Datatype, DATATYPE_BYTES, elementCount, type Tensor } from "../tensor.ts";
import { eachField, MalformedMessage } from "./fields.ts";

/** Fields that hold values: float_data to int64_data, raw_data, double_data, uint64_data. */
export const VALUE_FIELDS: ReadonlySet<number> = new Set([4, 5, 6, 7, 9, 10, 11]);
/** The field of values as they lie in memory: row-major, little-endian. */
export const RAW_DATA = 9;

/** What a tensor says of itself beside its values. */
export interface TensorHeader {
  /** Unique among the initialisers of a graph. */
  readonly name: string;
  /** `TensorProto.DataType`. */
  readonly elementType: number;
  /** Exact. */
  readonly shape: readonly number[];
  /** Present where its values lie in another file. */
  readonly external?: ExternalData;
}

/** A piece of another file. */
export interface ExternalData {
  /** The file's path, relative to the model's folder, as written. */
  readonly location: string;
  /** Where the piece begins. */
  readonly offset: number;
  /** Its bytes; to the end of the file when absent. */
  readonly length?: number;
}

/**
 * Reads all but the values.
 *
 * @throws {MalformedMessage}
 */
export function readTensorHeader(bytes: Uint8Array): TensorHeader {
  let name = "", elementType = 0, isExternal = false;
  const shape: number[] = [];
  const entries = new Map<string, string>();
  eachField(bytes, "A tensor", (number, field) => {
    if (number === 1) {
      const dims = field.isLengthDelimited ? varints(field.bytes()).map(Number) : [field.integer()];
      shape.push(...dims);
    } else if (number === 2) elementType = field.integer();
    else if (number === 8) name = field.text();
    else if (number === 13) entries.set(...externalEntry(field.bytes()));
    else if (number === 14) isExternal = field.integer() === 1;
  });
  return { name, elementType, shape, ...(isExternal ? { external: externalData(entries) } : {}) };
}

function externalData(entries: ReadonlyMap<string, string>): ExternalData {
  const length = entries.get("length");
  return {
    location: entries.get("location") ?? "",
    offset: Number(entries.get("offset") ?? 0),
    ...(length === undefined ? {} : { length: Number(length) }),
  };
}

function externalEntry(bytes: Uint8Array): [key: string, value: string] {
  let key = "", value = "";
  eachField(bytes, "An external data entry", (number, field) => {
    if (number === 1) key = field.text();
    else if (number === 2) value = field.text();
  });
  return [key, value];
}

/**
 * A tensor with its values, copied out of the file.
 *
 * @param bytes What `header` was read from.
 * @param datatype The protocol's, of the header's element type.
 * @throws {MalformedMessage} Fewer or more values than the shape asks for.
 */
export function readTensor(
  bytes: Uint8Array,
  { name, shape }: TensorHeader,
  datatype: Exclude<Datatype, "BYTES">,
): Tensor {
  const chunks: Uint8Array[] = [];
  const elementBytes = DATATYPE_BYTES[datatype];
  eachField(bytes, `Tensor "${name}"`, (number, field) => {
    if (number === RAW_DATA || number === PACKED_AS_RAW[datatype]) chunks.push(field.bytes());
    else if (VALUE_FIELDS.has(number)) {
      chunks.push(littleEndian(varints(field.bytes()), elementBytes));
    }
  });
  const length = totalLength(chunks);
  if (shape.some((dim) => dim < 0) || length !== byteLength(datatype, shape)) {
    throw new MalformedMessage(
      `Tensor "${name}" has ${length / elementBytes} values; expected ${elementCount(shape)} for ` +
        `its shape [${shape}]`,
    );
  }
  return { name, datatype, shape, data: concatenated(chunks) };
}

/** float_data and double_data hold what raw_data would; all other typed fields hold varints. */
const PACKED_AS_RAW: Partial<Record<Datatype, number>> = { FP32: 4, FP64: 10 };

const LONGEST_VARINT = 10;

/** Packed integers, as 64 bits with sign. */
export function varints(bytes: Uint8Array): bigint[] {
  const values: bigint[] = [];
  let value = 0n, length = 0;
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << BigInt(7 * length++);
    if (byte < 0x80) {
      values.push(BigInt.asIntN(64, value));
      value = 0n;
      length = 0;
    } else if (length === LONGEST_VARINT) {
      throw new MalformedMessage(`A tensor has an integer of more than ${LONGEST_VARINT} bytes`);
    }
  }
  if (length > 0) throw new MalformedMessage("A tensor breaks off within an integer");
  return values;
}

function littleEndian(values: readonly bigint[], elementBytes: number): Uint8Array {
  const bytes = new Uint8Array(values.length * elementBytes);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) {
    const at = i * elementBytes;
    if (elementBytes === 8) view.setBigInt64(at, value, true);
    else if (elementBytes === 4) view.setInt32(at, Number(BigInt.asIntN(32, value)), true);
    else if (elementBytes === 2) view.setInt16(at, Number(BigInt.asIntN(16, value)), true);
    else view.setInt8(at, Number(BigInt.asIntN(8, value)));
  }
  return bytes;
}

/** Bytes of all chunks together. */
export function totalLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

/** The chunks one behind the other, copied. */
export function concatenated(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(totalLength(chunks));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
