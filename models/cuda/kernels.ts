/**
 * The table of kernels: where each lies, its block and its parameters. The headers of `kernels/*.cu`
 * are the contract.
 *
 * @module
 */
import type { ParameterType } from "../../ffi/cuda/parameter_types.ts";
import { typesOf } from "../../ffi/cuda/parameter_types.ts";

/** How a kernel is launched. */
export interface Kernel {
  /** The file of `kernels/` that has it, without its extension. */
  readonly file: string;
  /** Threads of a block. */
  readonly block: number;
  /** Type of each parameter. */
  readonly parameters: readonly ParameterType[];
}

/** Threads of a block where each has one element. */
export const ELEMENTWISE_BLOCK = 256;

/** Axes that a broadcast may have. */
export const MOST_AXES = 6;

const LAYOUT: ParameterType = new Array<ParameterType>(1 + 3 * MOST_AXES).fill("i32");
const PRODUCT = typesOf("ppppiiiiffiilll");
const ALONG_AXIS = typesOf("ppiii");

const broadcast: Kernel = {
  file: "elementwise",
  block: ELEMENTWISE_BLOCK,
  parameters: [...typesOf("pppi"), LAYOUT],
};
const flat: Kernel = {
  file: "elementwise",
  block: ELEMENTWISE_BLOCK,
  parameters: typesOf("pppiii"),
};
const unary: Kernel = {
  file: "elementwise",
  block: ELEMENTWISE_BLOCK,
  parameters: typesOf("ppi"),
};

/** All kernels by their names. */
export const KERNELS = {
  gemm_f32: { file: "gemm", block: 256, parameters: PRODUCT },
  gemm_f32_few_rows: { file: "gemm", block: 128, parameters: PRODUCT },
  binary_add_f32: broadcast,
  binary_sub_f32: broadcast,
  binary_mul_f32: broadcast,
  binary_div_f32: broadcast,
  binary_pow_f32: broadcast,
  binary_add_f32_flat: flat,
  binary_sub_f32_flat: flat,
  binary_mul_f32_flat: flat,
  binary_div_f32_flat: flat,
  binary_pow_f32_flat: flat,
  unary_sqrt_f32: unary,
  unary_relu_f32: unary,
  unary_sigmoid_f32: unary,
  unary_tanh_f32: unary,
  reduce_mean_f32: { file: "reduce", block: 128, parameters: ALONG_AXIS },
  softmax_f32: { file: "softmax", block: 128, parameters: ALONG_AXIS },
} as const satisfies Readonly<Record<string, Kernel>>;

/** The name of a kernel. */
export type KernelName = keyof typeof KERNELS;

/** Blocks that a grid may have along y and z. */
export const MOST_BLOCKS = 65_535;
