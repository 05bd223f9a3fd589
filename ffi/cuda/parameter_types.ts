/**
 * Types of kernel parameters: scalars, and structs by value.
 *
 * @module
 */

/** A number or an address as a kernel takes it. */
export type ScalarType =
  | "pointer"
  | "i8"
  | "u8"
  | "i16"
  | "u16"
  | "i32"
  | "u32"
  | "i64"
  | "u64"
  | "f16"
  | "f32"
  | "f64";

/** How values of a scalar type are checked and written. */
export interface Scalar {
  /** Size and alignment. */
  readonly bytes: number;
  /** What is accepted, for messages. */
  readonly expected: string;
  /** Whether the value fits. */
  accepts(value: number | bigint): boolean;
  /** Writes a value that fits. */
  write(view: DataView, offset: number, value: number | bigint): void;
}

function integer(
  bytes: number,
  signed: boolean,
  write: (view: DataView, offset: number, value: number) => void,
): Scalar {
  const bits = bytes * 8;
  const low = signed ? -(2 ** (bits - 1)) : 0;
  const high = low + 2 ** bits - 1;
  return {
    bytes,
    expected: `an integer from ${low} to ${high}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high,
    write: (view, offset, value) => write(view, offset, Number(value)),
  };
}

function wideInteger(
  signed: boolean,
  write: (view: DataView, offset: number, value: bigint) => void,
): Scalar {
  const low = signed ? -(2n ** 63n) : 0n;
  const high = low + 2n ** 64n - 1n;
  return {
    bytes: 8,
    expected: `a bigint from ${low} to ${high}`,
    accepts: (value) => typeof value === "bigint" && value >= low && value <= high,
    write: (view, offset, value) => write(view, offset, BigInt(value)),
  };
}

function float(
  bytes: number,
  write: (view: DataView, offset: number, value: number) => void,
): Scalar {
  return {
    bytes,
    expected: "a number",
    accepts: (value) => typeof value === "number",
    write: (view, offset, value) => write(view, offset, Number(value)),
  };
}

const U64 = wideInteger(false, (view, offset, value) => view.setBigUint64(offset, value, true));

/** The scalar types by name. */
export const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  pointer: U64,
  i8: integer(1, true, (view, offset, value) => view.setInt8(offset, value)),
  u8: integer(1, false, (view, offset, value) => view.setUint8(offset, value)),
  i16: integer(2, true, (view, offset, value) => view.setInt16(offset, value, true)),
  u16: integer(2, false, (view, offset, value) => view.setUint16(offset, value, true)),
  i32: integer(4, true, (view, offset, value) => view.setInt32(offset, value, true)),
  u32: integer(4, false, (view, offset, value) => view.setUint32(offset, value, true)),
  i64: wideInteger(true, (view, offset, value) => view.setBigInt64(offset, value, true)),
  u64: U64,
  f16: float(2, (view, offset, value) => view.setFloat16(offset, value, true)),
  f32: float(4, (view, offset, value) => view.setFloat32(offset, value, true)),
  f64: float(8, (view, offset, value) => view.setFloat64(offset, value, true)),
};

/**
 * Type of a parameter. A list is a struct by value with these fields, laid out as C does; an array
 * in a struct is a list of equal types.
 */
export type ParameterType = ScalarType | readonly ParameterType[];

const LETTERS: Readonly<Record<string, ScalarType>> = {
  p: "pointer",
  i: "i32",
  u: "u32",
  l: "i64",
  h: "f16",
  f: "f32",
  d: "f64",
};

/**
 * The types that a signature such as `pppiif` stands for, one letter a parameter: `p` pointer, `i`
 * i32, `u` u32, `l` i64, `h` f16, `f` f32, `d` f64.
 */
export function typesOf(signature: string): ScalarType[] {
  return Array.from(signature, (letter) => {
    if (letter in LETTERS) return LETTERS[letter];
    const known = Object.entries(LETTERS).map(([letter, type]) => `${letter} (${type})`);
    throw new TypeError(
      `Signature ${signature}: ${letter} is no type, expected ${known.join(", ")}`,
    );
  });
}

/** Room that a parameter takes, and what it consists of. */
export interface Layout {
  /** Size. */
  readonly bytes: number;
  /** Its offset is a multiple of this. */
  readonly alignment: number;
  /** From the parameter's beginning, in order of declaration. */
  readonly fields: readonly { readonly type: ScalarType; readonly offset: number }[];
}

/** Lays a type out. */
export function layoutOf(type: ParameterType): Layout {
  if (typeof type === "string") {
    const { bytes } = SCALARS[type];
    return { bytes, alignment: bytes, fields: [{ type, offset: 0 }] };
  }
  if (type.length === 0) throw new TypeError("A struct needs a field: an empty one has no size");
  const fields: { type: ScalarType; offset: number }[] = [];
  let end = 0, alignment = 1;
  for (const member of type.map(layoutOf)) {
    const start = aligned(end, member.alignment);
    for (const { type, offset } of member.fields) fields.push({ type, offset: start + offset });
    end = start + member.bytes;
    alignment = Math.max(alignment, member.alignment);
  }
  return { bytes: aligned(end, alignment), alignment, fields };
}

/** The offset, or the next one that is a multiple of `alignment`. */
export function aligned(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}
