/**
 * Arithmetic on values that are known before anything runs: shapes mostly.
 *
 * @module
 */
import { byteLength, type Datatype, elementCount, type Tensor } from "../../tensor.ts";
import { isNumeric, readNumbers } from "../../tensor_values.ts";
import { broadcastStrides, ShapeFault } from "../../onnx/shapes.ts";

/** A few bytes of a request can ask for as large a value as they like; the host has other work. */
const MOST_VALUES = 1 << 22;

/** The values as numbers, exact up to 2^53. */
export function numbersOf({ datatype, data }: Tensor): number[] {
  if (!isNumeric(datatype)) return Array.from(data);
  return Array.from<number | bigint, number>(readNumbers(datatype, data), Number);
}

/** Datatypes that results may have here. */
export type KnownDatatype = "FP32" | "INT32" | "INT64";

/** Whether results may be of this datatype. */
export function isKnownDatatype(datatype: Datatype): datatype is KnownDatatype {
  return datatype === "FP32" || datatype === "INT32" || datatype === "INT64";
}

/** A tensor of these values; those of integer datatypes are cut off towards zero. */
export function tensorOf(
  datatype: KnownDatatype,
  shape: readonly number[],
  values: readonly number[],
): Tensor {
  const data = new Uint8Array(byteLength(datatype, shape));
  const view = new DataView(data.buffer);
  for (const [i, value] of values.entries()) {
    if (datatype === "FP32") view.setFloat32(i * 4, value, true);
    else if (datatype === "INT32") view.setInt32(i * 4, Math.trunc(value), true);
    else view.setBigInt64(i * 8, BigInt(Math.trunc(value)), true);
  }
  return { name: "", datatype, shape, data };
}

/**
 * The values of a tensor that is broadcast to `shape`, in row-major order.
 *
 * @throws {ShapeFault} When these are more than the host should compute.
 */
export function broadcastNumbers(tensor: Tensor, shape: readonly number[]): number[] {
  if (!(elementCount(shape) <= MOST_VALUES)) {
    throw new ShapeFault(
      `a value of shape [${shape}] has more than ${MOST_VALUES} elements, the most that are computed ` +
        "beforehand",
    );
  }
  const values = numbersOf(tensor);
  const strides = broadcastStrides(tensor.shape, shape);
  return Array.from({ length: elementCount(shape) }, (_, index) => {
    let place = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place += index % shape[axis] * strides[axis];
      index = Math.floor(index / shape[axis]);
    }
    return values[place];
  });
}
