/**
 * What the kernel suite needs of a GPU, and how a case says what to launch.
 *
 * @module
 */
import type { ParameterType } from "../../ffi/cuda/parameter_types.ts";

/** Somewhere kernels run. */
export interface Gpu {
  /**
   * Runs launches one after another on fresh memory: every buffer is allocated in exactly its size,
   * those with contents are uploaded, and those that kernels write are read back into their array.
   *
   * @param ptx Text of the module.
   */
  run(ptx: string, launches: readonly KernelLaunch[]): Promise<void>;
}

/** One launch of a kernel. */
export interface KernelLaunch {
  /** Name of the kernel in the module. */
  readonly kernel: string;
  /** Blocks along x, y and z; 1 where left out. */
  readonly grid: readonly number[];
  /** Threads along x, y and z; 1 where left out. */
  readonly block: readonly number[];
  /** In order of the parameters. */
  readonly arguments: readonly KernelArgument[];
  /** Dynamic shared memory of a block. */
  readonly sharedBytes?: number;
  /** Whether all blocks have to be resident at once. */
  readonly cooperative?: boolean;
}

/** Elements of a buffer on the host. */
export type Elements =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float16Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** Memory on the device. The same object in several arguments or launches is the same memory. */
export class Buffer {
  /**
   * Describes it; use {@linkcode input}, {@linkcode output} or {@linkcode updated}.
   *
   * @param data What is uploaded, and where the result goes.
   * @param uploaded Whether the kernel finds the data there; otherwise the memory is as it comes.
   * @param downloaded Whether the data is what the kernel left, once all launches have ended.
   */
  constructor(
    readonly data: Elements,
    readonly uploaded: boolean,
    readonly downloaded: boolean,
  ) {}

  /** The address of an element, instead of the first's. */
  from(element: number): { readonly buffer: Buffer; readonly byteOffset: number } {
    return { buffer: this, byteOffset: element * this.data.BYTES_PER_ELEMENT };
  }
}

/** A pointer, or a value with its type. */
export type KernelArgument =
  | Buffer
  | { readonly buffer: Buffer; readonly byteOffset: number }
  | {
    readonly type: ParameterType;
    readonly value: number | bigint | readonly (number | Buffer)[];
  };

/** What a kernel reads. */
export function input(data: Elements): Buffer {
  return new Buffer(data, true, false);
}

/** What a kernel writes from its beginning to its end. */
export function output(data: Elements): Buffer {
  return new Buffer(data, false, true);
}

/** What a kernel reads and writes. */
export function updated(data: Elements): Buffer {
  return new Buffer(data, true, true);
}

/** A signed integer of 32 bits. */
export function i32(value: number): KernelArgument {
  return { type: "i32", value };
}

/** A signed integer of 64 bits. */
export function i64(value: number): KernelArgument {
  return { type: "i64", value: BigInt(value) };
}

/** A float of 32 bits. */
export function f32(value: number): KernelArgument {
  return { type: "f32", value };
}

/** No address. */
export const NULL: KernelArgument = { type: "u64", value: 0n };

/** A struct by value, of pointers and 32-bit integers. */
export function struct(fields: readonly (number | Buffer)[]): KernelArgument {
  return {
    type: fields.map((field) => field instanceof Buffer ? "pointer" : "i32"),
    value: fields,
  };
}

/** A struct without fields, which has a size all the same. */
export const EMPTY: KernelArgument = { type: ["u8"], value: [0] };
