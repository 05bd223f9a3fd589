/**
 * Runs plans in JavaScript: what a plan means, kernel by kernel, on any machine.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Signature } from "../../../models/device.ts";
import type { ModelSignature } from "../../../models/model.ts";
import { decodeOnnx } from "../../../models/onnx/decode.ts";
import { decodeGraph } from "../../../models/onnx/graph.ts";
import { signatureOf } from "../../../models/onnx/signature.ts";
import { planIteration } from "../../../models/cuda/lowering.ts";
import type { KernelName } from "../../../models/cuda/kernels.ts";
import type { Argument, IterationPlan, Launch } from "../../../models/cuda/plan.ts";
import { type PreparedGraph, prepareGraph } from "../../../models/cuda/prepare.ts";
import { byteLength, type Tensor } from "../../../models/tensor.ts";
import { signatureFor } from "../../conformance/device_models.ts";

/** A file, ready to be planned. */
export interface Prepared {
  readonly signature: ModelSignature;
  readonly graph: PreparedGraph;
}

/** Prepares a file. */
export async function prepared(bytes: Uint8Array<ArrayBuffer>): Promise<Prepared> {
  const signature = signatureOf(decodeOnnx(bytes, "model"), "model");
  const read = (initializer: { tensor(): Tensor }) => Promise.resolve(initializer.tensor());
  return { signature, graph: await prepareGraph(decodeGraph(bytes, "model"), signature, read) };
}

/** The plan for inputs of these shapes. */
export function planFor({ signature, graph }: Prepared, inputs: readonly Tensor[]): IterationPlan {
  return planIteration(graph, signatureFor(inputs) satisfies Signature, signature.outputs);
}

/** What the plan answers for these inputs. */
export function answers(prepared: Prepared, inputs: readonly Tensor[]): Tensor[] {
  const plan = planFor(prepared, inputs);
  const memory = {
    // Whatever reads what nobody has written gets NaN.
    arena: new Uint8Array(plan.arenaBytes).fill(0xff),
    weights: prepared.graph.image.slice(),
  };
  for (const [i, { offset }] of plan.inputs.entries()) memory.arena.set(inputs[i].data, offset);
  for (const { offset, data } of plan.constants) memory.arena.set(data, offset);
  const floats = (argument: Argument): Float32Array => {
    assert.ok(typeof argument === "object" && "base" in argument);
    const { buffer } = memory[argument.base];
    return new Float32Array(buffer, argument.offset);
  };
  for (const launch of plan.launches) KERNELS[launch.kernel](launch, floats);
  const host = new Uint8Array(plan.hostBytes);
  for (const { from, hostOffset, bytes } of plan.copiesOut) {
    const source = memory.arena.subarray(from, from + bytes);
    assert.equal(source.length, bytes, "copies stay inside");
    host.set(source, hostOffset);
  }
  return plan.outputs.map((output) => {
    if (!("from" in output)) return output;
    const { shape, hostOffset } = output;
    const bytes = byteLength(shape.datatype, shape.shape);
    return { ...shape, data: host.slice(hostOffset, hostOffset + bytes) };
  });
}

type Run = (launch: Launch, floats: (argument: Argument) => Float32Array) => void;

const ACTIVATIONS: readonly ((x: number) => number)[] = [
  (x) => x,
  (x) => x < 0 ? 0 : x,
  (x) => 1 / (1 + Math.exp(-x)),
  Math.tanh,
];

const product: Run = ({ grid, arguments: args }, floats) => {
  const [m, n, k, flags, alpha, beta, biasRow, biasColumn, ...strides] = args.slice(4).map(Number);
  const [a, b, c] = [floats(args[0]), floats(args[1]), floats(args[3])];
  const bias = args[2] === 0n ? undefined : floats(args[2]);
  const activate = ACTIVATIONS[flags >> 8];
  for (let matrix = 0; matrix < grid[2]; matrix++) {
    const [atA, atB, atC] = strides.map((stride) => stride * matrix);
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        let sum = 0;
        for (let i = 0; i < k; i++) {
          sum += a[atA + (flags & 1 ? i * m + row : row * k + i)] *
            b[atB + (flags & 2 ? column * k + i : i * n + column)];
        }
        const added = bias === undefined ? 0 : beta * bias[row * biasRow + column * biasColumn];
        c[atC + row * n + column] = activate(alpha * sum + added);
      }
    }
  }
};

function flat(compute: (a: number, b: number) => number): Run {
  return ({ arguments: [pointerA, pointerB, pointerOut, count, modeA, modeB] }, floats) => {
    const [a, b, out] = [pointerA, pointerB, pointerOut].map(floats);
    for (let i = 0; i < Number(count); i++) {
      out[i] = compute(a[modeA === 0 ? i : 0], b[modeB === 0 ? i : 0]);
    }
  };
}

function broadcast(compute: (a: number, b: number) => number): Run {
  return ({ arguments: [pointerA, pointerB, pointerOut, count, layout] }, floats) => {
    const [a, b, out] = [pointerA, pointerB, pointerOut].map(floats);
    const fields = layout as readonly number[];
    const [dims, stridesA, stridesB] = [1, 7, 13].map((from) => fields.slice(from, from + 6));
    for (let i = 0; i < Number(count); i++) {
      let rest = i, atA = 0, atB = 0;
      for (let axis = fields[0] - 1; axis >= 0; axis--) {
        atA += rest % dims[axis] * stridesA[axis];
        atB += rest % dims[axis] * stridesB[axis];
        rest = Math.floor(rest / dims[axis]);
      }
      out[i] = compute(a[atA], b[atB]);
    }
  };
}

function unary(compute: (x: number) => number): Run {
  return ({ arguments: [pointerX, pointerOut, count] }, floats) => {
    const [x, out] = [pointerX, pointerOut].map(floats);
    for (let i = 0; i < Number(count); i++) out[i] = compute(x[i]);
  };
}

/** Gives each row of [outer, axis, inner] to `compute`, and takes its results. */
function along(compute: (row: readonly number[]) => readonly number[]): Run {
  return ({ arguments: [pointerX, pointerOut, ...sizes] }, floats) => {
    const [x, out] = [pointerX, pointerOut].map(floats);
    const [outer, axis, inner] = sizes.map(Number);
    for (let i = 0; i < outer * inner; i++) {
      const [block, column] = [Math.floor(i / inner), i % inner];
      const row = Array.from({ length: axis }, (_, k) => x[(block * axis + k) * inner + column]);
      const results = compute(row);
      for (const [k, result] of results.entries()) {
        out[(block * results.length + k) * inner + column] = result;
      }
    }
  };
}

const KERNELS: Readonly<Record<KernelName, Run>> = {
  gemm_f32: product,
  gemm_f32_few_rows: product,
  binary_add_f32: broadcast((a, b) => a + b),
  binary_sub_f32: broadcast((a, b) => a - b),
  binary_mul_f32: broadcast((a, b) => a * b),
  binary_div_f32: broadcast((a, b) => a / b),
  binary_pow_f32: broadcast(Math.pow),
  binary_add_f32_flat: flat((a, b) => a + b),
  binary_sub_f32_flat: flat((a, b) => a - b),
  binary_mul_f32_flat: flat((a, b) => a * b),
  binary_div_f32_flat: flat((a, b) => a / b),
  binary_pow_f32_flat: flat(Math.pow),
  unary_sqrt_f32: unary(Math.sqrt),
  unary_relu_f32: unary((x) => x < 0 ? 0 : x),
  unary_sigmoid_f32: unary((x) => 1 / (1 + Math.exp(-x))),
  unary_tanh_f32: unary(Math.tanh),
  reduce_mean_f32: along((row) => [row.reduce((sum, x) => sum + x, 0) / row.length]),
  softmax_f32: along((row) => {
    const powers = row.map((x) => Math.exp(x - Math.max(...row)));
    const sum = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / sum);
  }),
};
