import assert from "node:assert/strict";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";

/** Addresses as the driver would read them. */
function addresses(kernelArguments: KernelArguments): BigUint64Array {
  return new BigUint64Array(kernelArguments.addresses.buffer);
}

/** What the driver would find behind the index-th address. */
function behind(kernelArguments: KernelArguments, index: number): Deno.UnsafePointerView {
  return new Deno.UnsafePointerView(
    Deno.UnsafePointer.create(addresses(kernelArguments)[index])!,
  );
}

Deno.test("KernelArguments() lays scalars of a signature out by their sizes", () => {
  const args = new KernelArguments("piulhfd");
  assert.deepEqual(args.sizes, [8, 4, 4, 8, 2, 4, 8]);
  args.setAll(0xfedc_ba98_7654_3210n, -5, 2 ** 32 - 1, -(2n ** 62n), 1.5, 0.1, Math.PI);
  assert.equal(behind(args, 0).getBigUint64(), 0xfedc_ba98_7654_3210n);
  assert.equal(behind(args, 1).getInt32(), -5);
  assert.equal(behind(args, 2).getUint32(), 2 ** 32 - 1);
  assert.equal(behind(args, 3).getBigInt64(), -(2n ** 62n));
  assert.equal(behind(args, 4).getUint16(), 0x3e00);
  assert.equal(behind(args, 5).getFloat32(), Math.fround(0.1));
  assert.equal(behind(args, 6).getFloat64(), Math.PI);
});

Deno.test("KernelArguments() aligns every parameter by its type", () => {
  const args = new KernelArguments(["u8", "f64", "i16", "pointer", "i8", "u16"]);
  const [first] = addresses(args);
  const offsets = args.sizes.map((_, index) => Number(addresses(args)[index] - first));
  assert.deepEqual(offsets, [0, 8, 16, 24, 32, 34]);
});

Deno.test("KernelArguments() lays a struct by value out as C does", () => {
  // struct { char kind; struct { double scale; short ends[3]; } range; float last; }
  const args = new KernelArguments([
    "pointer",
    ["i8", ["f64", ["i16", "i16", "i16"]], "f32"],
    "i32",
  ]);
  assert.deepEqual(args.sizes, [8, 32, 4]);
  args.setFields(1, [-1, 0.5, 10, 20, 30, 2.5]);
  args.set(2, 7);
  const struct = behind(args, 1);
  assert.equal(struct.getInt8(0), -1);
  assert.equal(struct.getFloat64(8), 0.5);
  assert.deepEqual([16, 18, 20].map((offset) => struct.getInt16(offset)), [10, 20, 30]);
  assert.equal(struct.getFloat32(24), 2.5);
  assert.equal(behind(args, 2).getInt32(), 7);
  args.setField(1, 3, 21);
  assert.deepEqual([16, 18, 20].map((offset) => struct.getInt16(offset)), [10, 21, 30]);
});

Deno.test("KernelArguments() starts with zeros, and has an address without any parameter", () => {
  assert.equal(behind(new KernelArguments("p"), 0).getBigUint64(), 0n);
  assert.deepEqual(new KernelArguments("").setAll().sizes, []);
});

Deno.test("KernelArguments() keeps its addresses when values are rewritten", () => {
  const args = new KernelArguments("pi");
  const before = addresses(args)[0];
  for (let i = 0; i < 100; i++) args.setAll(BigInt(i), i);
  assert.equal(addresses(args)[0], before);
  assert.equal(behind(args, 1).getInt32(), 99);
});

Deno.test("set() refuses a value that the parameter cannot hold", () => {
  const args = new KernelArguments(["pointer", "i32", "u8", "f32", "i64"]);
  const cases: readonly [index: number, value: number | bigint, message: RegExp][] = [
    [
      0,
      3,
      /Argument 0 is of type pointer: expected a bigint from 0 to 18446744073709551615, got 3$/,
    ],
    [0, -1n, /Argument 0 is of type pointer: .* got -1n$/],
    [0, 2n ** 64n, /Argument 0 is of type pointer/],
    [1, 2 ** 31, /Argument 1 is of type i32: expected an integer from -2147483648 to 2147483647/],
    [1, 0.5, /got 0.5$/],
    [1, 1n, /got 1n$/],
    [2, 256, /Argument 2 is of type u8: expected an integer from 0 to 255, got 256$/],
    [2, -1, /got -1$/],
    [3, 1n, /Argument 3 is of type f32: expected a number, got 1n$/],
    [4, 2n ** 63n, /Argument 4 is of type i64/],
    [4, 1, /got 1$/],
    [5, 1, /There is no argument 5: 5 are expected/],
    [-1, 1, /There is no argument -1/],
  ];
  for (const [index, value, message] of cases) {
    assert.throws(() => args.set(index, value), { name: "TypeError", message });
  }
});

Deno.test("setAll() and setFields() refuse another number of values than there are", () => {
  const args = new KernelArguments(["i32", ["i32", "f32"]]);
  assert.throws(() => args.setAll(1), /2 arguments are expected, 1 were given/);
  assert.throws(() => args.setAll(1, 2), /Argument 1 is a struct/);
  assert.throws(() => args.setAll(1, [2]), /Argument 1 has 2 fields, 1 values were given/);
  assert.throws(() => args.setField(1, 2, 1), /Argument 1 has no field 2/);
  assert.throws(() => args.setField(1, 0, 1.5), /Argument 1 is of type i32/);
});

Deno.test("KernelArguments() refuses an unknown letter and a struct without fields", () => {
  assert.throws(
    () => new KernelArguments("px"),
    /Signature px: x is no type, expected p \(pointer/,
  );
  assert.throws(() => new KernelArguments([[]]), /A struct needs a field/);
});
