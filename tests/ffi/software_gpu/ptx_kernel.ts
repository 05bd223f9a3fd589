/**
 * Small kernels written by hand, and what becomes of them on the software GPU.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import type { SoftwareGpu } from "../../fixtures/software_gpu.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import type { KernelArgument } from "../../kernels/gpu.ts";

/** How {@linkcode run} launches the kernel of a module. */
export interface PtxLaunch {
  /** In order of the parameters. */
  readonly arguments: readonly KernelArgument[];
  /** Threads of a block; one warp by default. */
  readonly threads?: number;
  /** Blocks; one by default. */
  readonly blocks?: number;
}

/** What a kernel's text begins with, and declarations at the module's level. */
export interface PtxOptions {
  /** Types of the parameters `p0`, `p1`, ...; by default 64-bit pointers. */
  readonly parameters?: readonly string[];
  /** Declarations in front of the kernel. */
  readonly declarations?: string;
}

/**
 * A module with one kernel, `kernel`. Its body finds the thread's index in `%t` (and, with 64 bits,
 * in `%tw`), the parameters of 64 bits in `%a0`, `%a1`, ..., and registers of all types:
 * `%h` (16 bits), `%r` (32), `%w` (64), `%q` (128), `%f`, `%d` and `%p`.
 */
export function ptxKernel(parameters: number, body: string, options: PtxOptions = {}): string {
  const types = options.parameters ?? Array(parameters).fill(".u64");
  const loads = types.map((type, index) =>
    type === ".u64" ? `ld.param.u64 %a${index}, [p${index}];` : ""
  );
  return `.version 8.7
.target sm_80
.address_size 64
${options.declarations ?? ""}
.visible .entry kernel(${types.map((type, index) => `.param ${type} p${index}`).join(", ")})
{
  .reg .pred %p<16>;
  .reg .b16 %h<64>;
  .reg .b32 %r<128>, %t;
  .reg .b64 %w<64>, %a<8>, %tw;
  .reg .b128 %q<4>;
  .reg .f32 %f<64>;
  .reg .f64 %d<32>;
  mov.u32 %t, %tid.x;
  cvt.u64.u32 %tw, %t;
  ${loads.join("\n  ")}
${body}
  ret;
}
`;
}

/** PTX that puts the address of element `%t` of `base` into a 64-bit register. */
export function elementAddress(register: string, base: string, bytes: number): string {
  return `mad.lo.u64 ${register}, %tw, ${bytes}, ${base};`;
}

/** A string for an initialiser: its bytes and a zero. */
export function bytesOf(text: string): string {
  return [...new TextEncoder().encode(text), 0].join(", ");
}

/** Runs the kernel of a module once. */
export async function run(gpu: SoftwareGpu, ptx: string, launch: PtxLaunch): Promise<void> {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  await new CudaGpu(context).run(ptx, [{
    kernel: "kernel",
    grid: [launch.blocks ?? 1],
    block: [launch.threads ?? 32],
    arguments: launch.arguments,
  }]);
}

/**
 * Runs a kernel that is expected to fault with `code`.
 *
 * @returns What the device says about the fault, which a reset then clears.
 */
export async function faultOf(
  gpu: SoftwareGpu,
  code: number,
  ptx: string,
  launch: PtxLaunch,
): Promise<string> {
  await assert.rejects(run(gpu, ptx, launch), (error) => {
    // What cannot be released after a fault comes along with it.
    while (error instanceof SuppressedError) error = error.suppressed;
    assert.ok(error instanceof CudaError, String(error));
    assert.equal(error.code, code, `${error.message}; ${gpu.control.faultMessage()}`);
    return true;
  });
  const message = gpu.control.faultMessage();
  gpu.control.reset();
  return message;
}

/** Loads a module that the device is expected to refuse, and returns its log. */
export async function refusalOf(gpu: SoftwareGpu, ptx: string): Promise<string> {
  let message = "";
  await assert.rejects(run(gpu, ptx, { arguments: [] }), (error) => {
    assert.ok(error instanceof CudaError, String(error));
    message = error.message;
    return true;
  });
  return message;
}
