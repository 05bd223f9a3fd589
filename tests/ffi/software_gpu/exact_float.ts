/**
 * Floats as exact numbers, to say what an operation's correctly rounded result is: slowly, and in
 * another way than any processor does.
 *
 * @module
 */

/** A binary format by its fields. */
export interface FloatFormat {
  /** Width of the exponent. */
  readonly exponentBits: number;
  /** Width of the fraction that is stored. */
  readonly fractionBits: number;
}

/** The formats that instructions name. */
export const F16: FloatFormat = { exponentBits: 5, fractionBits: 10 };
/** bfloat16. */
export const BF16: FloatFormat = { exponentBits: 8, fractionBits: 7 };
/** Single precision. */
export const F32: FloatFormat = { exponentBits: 8, fractionBits: 23 };
/** Double precision. */
export const F64: FloatFormat = { exponentBits: 11, fractionBits: 52 };

/** To nearest (ties to even), to zero, down, up. */
export type Rounding = "rn" | "rz" | "rm" | "rp";

/** `significand * 2 ** exponent`, NaN or an infinity. */
export type Exact =
  | { readonly kind: "nan" }
  | { readonly kind: "infinity"; readonly negative: boolean }
  | {
    readonly kind: "finite";
    readonly negative: boolean;
    /** Not negative. */
    readonly significand: bigint;
    readonly exponent: number;
  };

/** Not a number. */
export const NAN: Exact = { kind: "nan" };

/** Bits of a whole value. */
export function widthOf(format: FloatFormat): number {
  return 1 + format.exponentBits + format.fractionBits;
}

function biasOf(format: FloatFormat): number {
  return (1 << (format.exponentBits - 1)) - 1;
}

/** The number that `bits` stand for. */
export function exactOf(bits: bigint, format: FloatFormat): Exact {
  const fraction = bits & ((1n << BigInt(format.fractionBits)) - 1n);
  const exponent = Number(
    bits >> BigInt(format.fractionBits) & ((1n << BigInt(format.exponentBits)) - 1n),
  );
  const negative = (bits >> BigInt(widthOf(format) - 1) & 1n) === 1n;
  if (exponent === (1 << format.exponentBits) - 1) {
    return fraction === 0n ? { kind: "infinity", negative } : NAN;
  }
  const implicit = exponent === 0 ? 0n : 1n << BigInt(format.fractionBits);
  return {
    kind: "finite",
    negative,
    significand: fraction | implicit,
    exponent: Math.max(exponent, 1) - biasOf(format) - format.fractionBits,
  };
}

/** Whether the bits are a NaN. */
export function isNan(bits: bigint, format: FloatFormat): boolean {
  return exactOf(bits, format).kind === "nan";
}

/** The bits of a number in a format; of NaN, some NaN. */
export function roundExact(value: Exact, format: FloatFormat, rounding: Rounding): bigint {
  const infinity = ((1n << BigInt(format.exponentBits)) - 1n) << BigInt(format.fractionBits);
  if (value.kind === "nan") return infinity | 1n;
  const sign = value.negative ? 1n << BigInt(widthOf(format) - 1) : 0n;
  if (value.kind === "infinity") return sign | infinity;
  if (value.significand === 0n) return sign;
  const length = value.significand.toString(2).length;
  const lowest = 1 - biasOf(format) - format.fractionBits;
  const unit = Math.max(value.exponent + length - 1 - format.fractionBits, lowest);
  const shift = unit - value.exponent;
  let whole = shift > 0 ? value.significand >> BigInt(shift) : value.significand << BigInt(-shift);
  const rest = shift > 0 ? value.significand - (whole << BigInt(shift)) : 0n;
  const half = shift > 0 ? 1n << BigInt(shift - 1) : 1n;
  const up = rounding === "rn"
    ? rest > half || (rest === half && (whole & 1n) === 1n)
    : rest > 0n && rounding === (value.negative ? "rm" : "rp");
  if (up) whole += 1n;
  const bits = (BigInt(unit - lowest) << BigInt(format.fractionBits)) + whole;
  if (bits < infinity) return sign | bits;
  const outward = rounding === "rn" || rounding === (value.negative ? "rm" : "rp");
  return sign | (outward ? infinity : infinity - 1n);
}

/** The same number with its sign the other way round. */
export function negate(value: Exact): Exact {
  return value.kind === "nan" ? value : { ...value, negative: !value.negative };
}

/** The sum. The rounding decides what the sign of an exact zero is. */
export function add(a: Exact, b: Exact, rounding: Rounding): Exact {
  if (a.kind === "nan" || b.kind === "nan") return NAN;
  if (a.kind === "infinity" || b.kind === "infinity") {
    if (a.kind === b.kind && a.negative !== b.negative) return NAN;
    return a.kind === "infinity" ? a : b;
  }
  const exponent = Math.min(a.exponent, b.exponent);
  const signed = (value: typeof a) =>
    (value.negative ? -1n : 1n) * value.significand << BigInt(value.exponent - exponent);
  const sum = signed(a) + signed(b);
  const negative = sum === 0n
    ? (a.negative && b.negative) || (a.negative !== b.negative && rounding === "rm")
    : sum < 0n;
  return { kind: "finite", negative, significand: sum < 0n ? -sum : sum, exponent };
}

/** The product. */
export function multiply(a: Exact, b: Exact): Exact {
  if (a.kind === "nan" || b.kind === "nan") return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === "finite" && b.kind === "finite") {
    return {
      kind: "finite",
      negative,
      significand: a.significand * b.significand,
      exponent: a.exponent + b.exponent,
    };
  }
  const zero = (value: Exact) => value.kind === "finite" && value.significand === 0n;
  return zero(a) || zero(b) ? NAN : { kind: "infinity", negative };
}

// So many bits more than any format holds, the last of which says whether something is missing.
const EXTRA = 200n;

/** The quotient, close enough that rounding it is rounding the exact one. */
export function divide(a: Exact, b: Exact): Exact {
  if (a.kind === "nan" || b.kind === "nan") return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === "infinity") return b.kind === "infinity" ? NAN : { kind: "infinity", negative };
  if (b.kind === "infinity") return { kind: "finite", negative, significand: 0n, exponent: 0 };
  if (b.significand === 0n) {
    return a.significand === 0n ? NAN : { kind: "infinity", negative };
  }
  const scaled = a.significand << EXTRA;
  const quotient = scaled / b.significand;
  const sticky = scaled % b.significand === 0n ? 0n : 1n;
  return {
    kind: "finite",
    negative,
    significand: quotient << 1n | sticky,
    exponent: a.exponent - b.exponent - Number(EXTRA) - 1,
  };
}

/** The square root, as close. */
export function squareRoot(a: Exact): Exact {
  if (a.kind === "nan") return NAN;
  if (a.kind === "finite" && a.significand === 0n) return a;
  if (a.negative) return NAN;
  if (a.kind === "infinity") return a;
  const odd = Math.abs(a.exponent) % 2;
  const scaled = a.significand << (EXTRA * 2n + BigInt(odd));
  let root = 1n << BigInt(Math.ceil(scaled.toString(2).length / 2));
  for (;;) {
    const next = (root + scaled / root) >> 1n;
    if (next >= root) break;
    root = next;
  }
  const sticky = root * root === scaled ? 0n : 1n;
  return {
    kind: "finite",
    negative: false,
    significand: root << 1n | sticky,
    exponent: (a.exponent - odd) / 2 - Number(EXTRA) - 1,
  };
}

/** The integer that a number becomes under a rounding. */
export function toInteger(value: Exact, rounding: Rounding): bigint {
  if (value.kind !== "finite") throw new TypeError("Only finite numbers become integers");
  const magnitude = value.exponent >= 0
    ? value.significand << BigInt(value.exponent)
    : value.significand >> BigInt(-value.exponent);
  const rest = value.exponent >= 0
    ? 0n
    : value.significand - (magnitude << BigInt(-value.exponent));
  const half = value.exponent >= 0 ? 1n : 1n << BigInt(-value.exponent - 1);
  const up = rounding === "rn"
    ? rest > half || (rest === half && (magnitude & 1n) === 1n)
    : rest > 0n && rounding === (value.negative ? "rm" : "rp");
  const rounded = up ? magnitude + 1n : magnitude;
  return value.negative ? -rounded : rounded;
}

/** An integer as an exact number. */
export function fromInteger(value: bigint): Exact {
  return {
    kind: "finite",
    negative: value < 0n,
    significand: value < 0n ? -value : value,
    exponent: 0,
  };
}
