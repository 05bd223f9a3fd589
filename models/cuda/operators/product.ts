/**
 * Matrix products as launches, with what follows them in the same launch: a bias, an activation.
 *
 * @module
 */
import { broadcastShape } from "../../onnx/shapes.ts";
import { elementCount } from "../../tensor.ts";
import { MOST_BLOCKS } from "../kernels.ts";
import type { Lowering, Place } from "../lowering.ts";
import type { OperatorCall, Value, ValueType } from "./operator.ts";

const ELEMENT_BYTES = 4;
const TRANSPOSED_A = 1, TRANSPOSED_B = 2, ACTIVATION_SHIFT = 8;
/** Sides of the square of results that a block computes, and of the strip where there are few rows. */
const TILE = 64, FEW_ROWS = 8, STRIP = 32;

/** The numbers by which kernels know activations. */
const ACTIVATIONS: Readonly<Record<string, number | undefined>> = { Relu: 1, Sigmoid: 2, Tanh: 3 };

/** What is added to a product, and how it is read for a row and a column. */
export interface Bias {
  /** Where it lies. */
  readonly place: Place;
  /** Elements from one row to the next: 0 where all have the same. */
  readonly row: number;
  /** Elements from one column to the next. */
  readonly column: number;
}

/** One product, or a batch of them. */
export interface Product {
  /** The left operands. */
  readonly a: Place;
  /** The right operands. */
  readonly b: Place;
  /** The results. */
  readonly out: Place;
  /** Rows of a result. */
  readonly m: number;
  /** Columns of a result. */
  readonly n: number;
  /** What is summed over. */
  readonly k: number;
  /** The left operands lie as k x m. */
  readonly transposedA?: boolean;
  /** The right operands lie as n x k. */
  readonly transposedB?: boolean;
  /** Factor of the product; 1 when absent. */
  readonly alpha?: number;
  /** Factor of the bias; 1 when absent. */
  readonly beta?: number;
  /** Products; 1 when absent. */
  readonly batch?: number;
  /** Whether each product of the batch has a left operand of its own. */
  readonly ownA?: boolean;
  /** Whether each product of the batch has a right operand of its own. */
  readonly ownB?: boolean;
}

/** What follows a product and is part of its launch. */
export interface Tail {
  /** Added before the activation. */
  readonly bias?: Bias;
  /** 0: none. */
  readonly activation: number;
  /** Name of the value that the launch computes. */
  readonly output: string;
}

/**
 * Takes the nodes behind a product into its launch, as far as they are a bias and an activation that
 * nobody else sees the input of.
 *
 * @param matrix Rows and columns that the product counts as for the bias; none: it takes no bias.
 */
export function absorbTail(
  call: OperatorCall,
  { shape }: ValueType,
  lowering: Lowering,
  matrix?: readonly [rows: number, columns: number],
): Tail {
  let [output] = call.node.outputs;
  let bias: Bias | undefined;
  let next = lowering.soleReader(output);
  if (next?.operator === "Add" && matrix !== undefined) {
    const other = lowering.value(next.inputs[next.inputs[0] === output ? 1 : 0]);
    bias = other && addedBias(other, shape, matrix, lowering);
    if (bias !== undefined) {
      lowering.absorb(next);
      [output] = next.outputs;
      next = lowering.soleReader(output);
    }
  }
  const activation = ACTIVATIONS[next?.operator ?? ""];
  if (next === undefined || activation === undefined) return { bias, activation: 0, output };
  lowering.absorb(next);
  return { bias, activation, output: next.outputs[0] };
}

function addedBias(
  value: Value,
  shape: readonly number[],
  matrix: readonly [rows: number, columns: number],
  lowering: Lowering,
): Bias | undefined {
  const strides = biasStrides(value.shape, shape, matrix);
  if (value.datatype !== "FP32" || strides === undefined) return undefined;
  return { place: lowering.place(value), row: strides[0], column: strides[1] };
}

/**
 * How a bias is read that is broadcast to `shape`, seen as a matrix; undefined where two numbers do
 * not say it, or the bias would widen the result.
 */
export function biasStrides(
  bias: readonly number[],
  shape: readonly number[],
  [rows, columns]: readonly [rows: number, columns: number],
): [row: number, column: number] | undefined {
  const full = broadcastShape(bias, shape);
  if (full.length !== shape.length || full.some((dim, axis) => dim !== shape[axis])) {
    return undefined;
  }
  const count = elementCount(bias);
  const last = bias.at(-1) ?? 1;
  if (count === 1) return [0, 0];
  if (count === columns && last === columns) return [0, 1];
  if (count === rows * columns) return [columns, 1];
  if (count === rows && last === 1) return [1, 0];
  return undefined;
}

/** Launches a product. */
export function launchProduct(
  call: OperatorCall,
  lowering: Lowering,
  product: Product,
  { bias, activation }: Pick<Tail, "bias" | "activation">,
): void {
  const { a, b, out, m, n, k, alpha = 1, beta = 1, batch = 1 } = product;
  const flags = (product.transposedA ? TRANSPOSED_A : 0) |
    (product.transposedB ? TRANSPOSED_B : 0) | activation << ACTIVATION_SHIFT;
  const [strideA, strideB] = [product.ownA ? m * k : 0, product.ownB ? k * n : 0];
  const few = m <= FEW_ROWS;
  const [columns, rows] = few ? [Math.ceil(n / STRIP), 1] : [n, m].map((x) => Math.ceil(x / TILE));
  if (rows > MOST_BLOCKS) throw call.unsupported(`has ${m} rows: too many for the cuda device`);
  for (let first = 0; first < batch; first += MOST_BLOCKS) {
    const products = Math.min(MOST_BLOCKS, batch - first);
    lowering.launch(
      few ? "gemm_f32_few_rows" : "gemm_f32",
      [columns, m === 0 ? 0 : rows, products],
      shifted(a, first * strideA),
      shifted(b, first * strideB),
      bias?.place ?? 0n,
      shifted(out, first * m * n),
      m,
      n,
      k,
      flags,
      alpha,
      beta,
      bias?.row ?? 0,
      bias?.column ?? 0,
      BigInt(strideA),
      BigInt(strideB),
      BigInt(m * n),
    );
  }
}

/** A place so many FP32 elements further on. */
export function shifted({ buffer, offset }: Place, elements: number): Place {
  return { buffer, offset: offset + elements * ELEMENT_BYTES };
}
