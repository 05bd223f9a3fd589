/**
 * Failure of each function of the driver in turn, which only the software GPU can be told to have.
 *
 * @module
 */
import assert from "node:assert/strict";
import { type CudaDriver, openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaError, CudaUnavailableError } from "../../../ffi/cuda/errors.ts";
import { type SymbolName, SYMBOLS } from "../../../ffi/cuda/symbols.ts";
import { leftOn, type SoftwareGpu } from "../../fixtures/software_gpu.ts";
import { callEverything } from "./every_call.ts";

/** What nothing here fails with by itself, and no fault that stays. */
const OPERATING_SYSTEM = 304;
/** What a kernel's wild store leads to. */
const ILLEGAL_ADDRESS = 700;

/** A check that needs a fresh software GPU. */
export interface SoftwareGpuCase {
  /** What it shows. */
  readonly name: string;
  /** Shows it. */
  run(gpu: SoftwareGpu): Promise<void>;
}

/** What the call serves is better than nothing without: the text and the hint of an error. */
const DISPENSABLE: ReadonlySet<SymbolName> = new Set([
  "cuGetErrorName",
  "cuGetErrorString",
  "cuModuleGetFunctionCount",
  "cuModuleEnumerateFunctions",
  "cuFuncGetName",
]);

/** Without these there is no driver to speak of. */
const OPENING: ReadonlySet<SymbolName> = new Set(["cuInit", "cuDriverGetVersion"]);

/** What a driver does not take back stays, unless it goes with its context. */
const KEPT: Readonly<Partial<Record<SymbolName, ReturnType<typeof leftOn>>>> = {
  cuDevicePrimaryCtxRelease_v2: { handles: 1, allocations: 0 },
  cuMemRelease: { handles: 0, allocations: 1 },
  cuMemUnmap: { handles: 0, allocations: 1 },
};

const CALLS = Object.keys(SYMBOLS) as SymbolName[];

/** Two cases for each function: a failure of one call, and a fault after which none works. */
export const FAILURE_CASES: readonly SoftwareGpuCase[] = [
  {
    name: "a round through the binding calls every function of the table",
    async run({ path, control }) {
      assert.deepEqual(await round(path), { error: undefined, fault: undefined });
      assert.deepEqual(CALLS.filter((call) => control.counter(`calls:${call}`) === 0), []);
    },
  },
  ...CALLS.map((call): SoftwareGpuCase => ({
    name: `a failure of ${call} is told and leaves nothing behind`,
    async run({ path, control }) {
      control.inject(call, 1, OPERATING_SYSTEM);
      const { error } = await round(path);
      assert.ok(control.counter(`calls:${call}`) > 0, "it was called");
      const kept = KEPT[call];
      if (kept !== undefined) {
        assert.deepEqual(leftOn(control), kept);
        control.reset();
      }
      if (DISPENSABLE.has(call)) return assert.equal(error, undefined);
      if (OPENING.has(call)) {
        assert.ok(error instanceof CudaUnavailableError, String(error));
        return assert.match(error.message, new RegExp(`${call} .*${OPERATING_SYSTEM}`));
      }
      assert.ok(error instanceof CudaError, String(error));
      assert.deepEqual({ call: error.call, code: error.code }, { call, code: OPERATING_SYSTEM });
    },
  })),
  ...CALLS.filter((call) => !OPENING.has(call)).map((call): SoftwareGpuCase => ({
    name: `a fault at ${call} is told as one, and all that was made can be disposed`,
    async run({ path, control }) {
      control.inject(call, 1, ILLEGAL_ADDRESS);
      const { error, fault = error } = await round(path);
      assert.ok(fault instanceof CudaError, String(error));
      assert.deepEqual([fault.code, fault.sticky], [ILLEGAL_ADDRESS, true]);
      control.reset(); // as its driver gives nothing back
    },
  })),
];

/** What a round ends with, and the fault that the driver has met. */
async function round(path: string): Promise<{ error?: unknown; fault?: CudaError }> {
  let driver: CudaDriver;
  try {
    driver = openDriver(path);
  } catch (error) {
    return { error };
  }
  try {
    await callEverything(driver);
    return { error: undefined, fault: driver.fault };
  } catch (error) {
    return { error, fault: driver.fault };
  } finally {
    driver[Symbol.dispose]();
  }
}
