/**
 * Tables of instructions and what they give, run on the software GPU: one kernel per instruction,
 * one thread per row of operands, for whole and for half warps.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { type Elements, input, output } from "../../kernels/gpu.ts";
import type { SoftwareGpu } from "../../fixtures/software_gpu.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import { elementAddress, ptxKernel } from "./ptx_kernel.ts";

/** Where an operand lies: a predicate or a register of 16, 32, 64 bits, or of a float. */
export type Place = "p" | "h" | "r" | "w" | "f" | "d";

/** One instruction. */
export interface InstructionCase {
  /** As PTX has it: `add.sat.s32`. */
  readonly instruction: string;
  /** The result's place first, then the operands'. */
  readonly places: readonly Place[];
  /** Behind the operands: `, 0xe8`. */
  readonly suffix?: string;
  /**
   * What stands behind the result instead of the operands, which are `%r10`, `%p11`, ... by their
   * places; for several instructions in one case.
   */
  readonly operands?: string;
  /** Operands by row: bits of each. */
  readonly rows: readonly (readonly bigint[])[];
  /** Bits of the result; undefined for a row whose result is not defined. */
  readonly of: (...operands: bigint[]) => bigint | undefined;
  /** Whether two results are the same: equal bits where left out. */
  readonly same?: (actual: bigint, expected: bigint) => boolean;
}

const BITS: Record<Place, number> = { p: 1, h: 16, r: 32, w: 64, f: 32, d: 64 };
const UNTOUCHED = 0x5a5a5a5a5a5a5a5an;

/** Runs each instruction over its rows, by all threads and then by every other one. */
export async function checkInstructions(
  gpu: SoftwareGpu,
  cases: readonly InstructionCase[],
): Promise<void> {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  const kernels = new CudaGpu(context);
  for (const each of cases) await check(kernels, each);
}

async function check(kernels: CudaGpu, each: InstructionCase): Promise<void> {
  const count = Math.ceil(each.rows.length / 32) * 32;
  const operands = each.places.slice(1);
  const rows = Array.from({ length: count }, (_, index) => each.rows[index % each.rows.length]);
  const buffers = operands.map((_, index) => input(words(rows.map((row) => row[index]))));
  const whole = output(words(rows.map(() => 0n))), half = output(words(rows.map(() => 0n)));
  await kernels.run(kernelOf(each), [{
    kernel: "kernel",
    grid: [1],
    block: [count],
    arguments: [...buffers, whole, half],
  }]);
  const mask = (1n << BigInt(BITS[each.places[0]])) - 1n;
  const same = each.same ?? ((actual: bigint, expected: bigint) => actual === (expected & mask));
  rows.forEach((row, thread) => {
    const expected = each.of(...row);
    if (expected === undefined) return;
    const told = `${each.instruction} of ${row.map((bits) => `0x${bits.toString(16)}`).join(", ")}`;
    const actual = bitsAt(whole.data, thread) & mask;
    assert.ok(
      same(actual, expected),
      `${told}: 0x${actual.toString(16)}, not 0x${(expected & mask).toString(16)}`,
    );
    const untouched = bitsAt(half.data, thread) & mask;
    const wanted = thread % 2 === 0 ? actual : UNTOUCHED & mask;
    assert.equal(untouched, wanted, `${told} in every other lane, thread ${thread}`);
  });
}

function kernelOf(each: InstructionCase): string {
  const operands = each.places.slice(1), [result] = each.places;
  const names = operands.map((place, index) => `%${place}${10 + index}`);
  const loads = operands.map((place, index) =>
    `${elementAddress("%w60", `%a${index}`, 8)} ${load(place, names[index])}`
  );
  const behind = each.operands ?? `${names.join(", ")}${each.suffix ?? ""}`;
  const call = (name: string) => `${each.instruction} ${name}, ${behind};`;
  return ptxKernel(
    operands.length + 2,
    `
  and.b32 %r0, %t, 1;
  setp.eq.u32 %p0, %r0, 0;
  ${loads.join("\n  ")}
  ${elementAddress("%w61", `%a${operands.length}`, 8)}
  ${elementAddress("%w62", `%a${operands.length + 1}`, 8)}
  mov.b64 %w63, 0;
  st.global.u64 [%w61], %w63;
  st.global.u64 [%w62], %w63;
  ${call(`%${result}1`)}
  ${store(result, `%${result}1`, "%w61")}
  ${start(result, `%${result}2`)}
  ${call(`%${result}2`).replaceAll(/(?<=^|; )/g, "@%p0 ")}
  ${store(result, `%${result}2`, "%w62")}`,
  );
}

function load(place: Place, register: string): string {
  if (place === "p") return `ld.global.u32 %r1, [%w60]; setp.ne.u32 ${register}, %r1, 0;`;
  return `ld.global.b${BITS[place]} ${register}, [%w60];`;
}

function store(place: Place, register: string, address: string): string {
  if (place === "p") return `selp.u32 %r1, 1, 0, ${register}; st.global.u32 [${address}], %r1;`;
  return `st.global.b${BITS[place]} [${address}], ${register};`;
}

function start(place: Place, register: string): string {
  if (place === "p") return `setp.ne.u32 ${register}, 0, 0;`;
  const bits = UNTOUCHED & ((1n << BigInt(BITS[place])) - 1n);
  return `st.global.u64 [%w62], ${bits}; ld.global.b${BITS[place]} ${register}, [%w62];
  st.global.u64 [%w62], %w63;`;
}

function words(values: readonly bigint[]): Elements {
  return BigUint64Array.from(values, (value) => BigInt.asUintN(64, value)) as unknown as Elements;
}

function bitsAt(data: Elements, index: number): bigint {
  return BigInt.asUintN(64, BigInt(data[index]));
}

/** Reproducible bits that look like nothing in particular. */
export function randomBits(bits: number, count: number, seed = 1n): bigint[] {
  let state = seed * 0x9E3779B97F4A7C15n + 1n;
  return Array.from({ length: count }, () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    const mixed = (state >> 31n) ^ state;
    return BigInt.asUintN(bits, mixed * 0x2545F4914F6CDD1Dn);
  });
}

/** Each of `values` with each, as rows of so many operands: the first ones vary slowest. */
export function combinations(values: readonly bigint[], operands: number): bigint[][] {
  if (operands === 0) return [[]];
  const rest = combinations(values, operands - 1);
  return values.flatMap((value) => rest.map((row) => [value, ...row]));
}

/** Rows of random operands. */
export function randomRows(bits: readonly number[], count: number, seed = 7n): bigint[][] {
  const columns = bits.map((width, index) => randomBits(width, count, seed + BigInt(index)));
  return Array.from({ length: count }, (_, row) => columns.map((column) => column[row]));
}
