/**
 * What one iteration of one signature does on the device, before any address is known.
 *
 * @module
 */
import type { Tensor, TensorShape } from "../tensor.ts";
import type { KernelName } from "./kernels.ts";

/** A place in a model's weights, or in the working memory of whatever lane it runs on. */
export interface Address {
  /** What the offset counts from. */
  readonly base: "weights" | "arena";
  /** Bytes. */
  readonly offset: number;
}

/** An argument of a kernel: a struct's fields are a list. */
export type Argument = number | bigint | readonly number[] | Address;

/** One launch of a kernel. */
export interface Launch<At = Argument> {
  /** In the table of kernels, which knows the block's size. */
  readonly kernel: KernelName;
  /** Blocks along x, y and z. */
  readonly grid: readonly [x: number, y: number, z: number];
  /** In the order of the kernel's parameters. */
  readonly arguments: readonly At[];
}

/** An input's place: the same in the lane and in the host's staging buffer. */
export interface PlannedInput {
  /** Name and exact shape. */
  readonly shape: TensorShape;
  /** Bytes from the beginning. */
  readonly offset: number;
}

/** A value that the signature decides: it travels with the inputs. */
export interface PlannedConstant {
  /** As for an input. */
  readonly offset: number;
  /** Its values. */
  readonly data: Uint8Array<ArrayBuffer>;
}

/** An output that the device computes. */
export interface PlannedOutput {
  /** Name and exact shape. */
  readonly shape: TensorShape;
  /** Where it lies in the lane. */
  readonly from: number;
  /** Where it goes in the host's buffer. */
  readonly hostOffset: number;
}

/** One copy of neighbouring outputs to the host. */
export interface CopyOut {
  /** Where they lie in the lane. */
  readonly from: number;
  /** Where they go in the host's buffer. */
  readonly hostOffset: number;
  /** Of all together. */
  readonly bytes: number;
}

/** An iteration, planned. */
export interface IterationPlan {
  /** In the signature's order. They lie at the beginning of the arena. */
  readonly inputs: readonly PlannedInput[];
  /** Behind the inputs. */
  readonly constants: readonly PlannedConstant[];
  /** Bytes of both, which are copied to the arena's beginning at once. */
  readonly inputBytes: number;
  /** In the order in which the device runs them. */
  readonly launches: readonly Launch[];
  /** In the model's order: computed, or known without the device. */
  readonly outputs: readonly (PlannedOutput | Tensor)[];
  /** What brings the computed ones to the host. */
  readonly copiesOut: readonly CopyOut[];
  /** What the host needs: the inputs, and the outputs behind them. */
  readonly hostBytes: number;
  /** What the lane needs. */
  readonly arenaBytes: number;
}
