/**
 * Inputs of one signature, bound to memory that requests are copied into.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import { createStringTensor, writeStrings } from "../../ffi/onnxruntime/strings.ts";
import { wrapTensor } from "../../ffi/onnxruntime/values.ts";
import { SluiceError } from "../errors.ts";
import { byteLength, elementCount, type TensorShape } from "../tensor.ts";
import { terminateElements } from "./byte_strings.ts";
import { ELEMENT_TYPE_OF } from "./element_types.ts";

/** An input's tensor. */
export interface BoundInput extends Disposable {
  /** `OrtValue*`; stays the same. */
  readonly tensor: Deno.PointerObject;
  /** Host memory that it takes, bytes. */
  readonly bytes: number;
  /**
   * Joins the pieces of a batch.
   *
   * @throws {SluiceError} `invalid_argument` unless they fill the tensor exactly.
   */
  write(pieces: readonly Uint8Array<ArrayBuffer>[]): void;
}

/** Binds an input. */
export function bindInput(environment: Environment, input: TensorShape): BoundInput {
  return input.datatype === "BYTES"
    ? new StringInput(environment, input)
    : new HostInput(environment, input);
}

/** Elements of fixed size, in a host buffer that the tensor lies over. */
class HostInput implements BoundInput {
  readonly tensor: Deno.PointerObject;
  readonly #environment: Environment;
  readonly #input: TensorShape;
  readonly #buffer: Uint8Array<ArrayBuffer>;

  constructor(environment: Environment, input: TensorShape) {
    this.#environment = environment;
    this.#input = input;
    this.#buffer = stableBytes(byteLength(input.datatype, input.shape));
    this.tensor = wrapTensor(
      environment,
      ELEMENT_TYPE_OF[input.datatype],
      input.shape,
      this.#buffer,
    );
  }

  get bytes(): number {
    return this.#buffer.byteLength;
  }

  write(pieces: readonly Uint8Array<ArrayBuffer>[]): void {
    const buffer = this.#buffer;
    let total = 0;
    for (const piece of pieces) total += piece.length;
    if (total !== buffer.length) {
      throw wrongContent(this.#input, `${total} bytes`, `${buffer.length} bytes`);
    }
    let offset = 0;
    for (const piece of pieces) {
      buffer.set(piece, offset);
      offset += piece.length;
    }
  }

  [Symbol.dispose](): void {
    this.#environment.runtime.api.ReleaseValue.call(this.tensor);
    this.#buffer.buffer.transfer(0);
  }
}

/** Strings, which ONNX Runtime keeps in memory of its own. */
class StringInput implements BoundInput {
  readonly tensor: Deno.PointerObject;
  readonly bytes = 0;
  readonly #environment: Environment;
  readonly #input: TensorShape;
  readonly #count: number;

  constructor(environment: Environment, input: TensorShape) {
    this.#environment = environment;
    this.#input = input;
    this.#count = elementCount(input.shape);
    this.tensor = createStringTensor(environment.runtime, input.shape);
  }

  write(pieces: readonly Uint8Array<ArrayBuffer>[]): void {
    const strings = terminateElements(pieces, this.#count);
    const { found, rest } = strings;
    if (found !== this.#count || rest > 0) {
      const besides = rest === 0 ? "" : ` and ${rest} bytes that are no element`;
      throw wrongContent(this.#input, `${found} elements${besides}`, `${this.#count} elements`);
    }
    writeStrings(this.#environment.runtime, this.tensor, strings);
  }

  [Symbol.dispose](): void {
    this.#environment.runtime.api.ReleaseValue.call(this.tensor);
  }
}

function wrongContent(input: TensorShape, given: string, expected: string): SluiceError {
  return new SluiceError(
    "invalid_argument",
    `Input "${input.name}" has ${given}; its shape [${input.shape}] of ${input.datatype} takes ${expected}`,
  );
}
