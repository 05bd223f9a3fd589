/**
 * An output of one signature. The first run shows its true shape, which a declaration does not
 * promise; from then on runs write straight into a host buffer of that shape.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import { readStrings } from "../../ffi/onnxruntime/strings.ts";
import { copyTensor, tensorInfo, wrapTensor } from "../../ffi/onnxruntime/values.ts";
import { SluiceError } from "../errors.ts";
import { byteLength, elementCount, type Tensor, type TensorSpec } from "../tensor.ts";
import { frameJoined } from "../bytes_elements.ts";
import { ELEMENT_TYPE_OF } from "./element_types.ts";
import { WriteProof } from "./write_proof.ts";

const NO_BYTES = stableBytes(0);

/** An output's host buffer and, once its shape is known, the tensor over it. */
export class BoundOutput implements Disposable {
  readonly #environment: Environment;
  readonly #spec: TensorSpec;
  #buffer = NO_BYTES;
  #bound: Deno.PointerValue = null;
  #data = NO_BYTES;
  readonly #proof = new WriteProof();

  /** An output that nothing is known of but its declaration. */
  constructor(environment: Environment, spec: TensorSpec) {
    this.#environment = environment;
    this.#spec = spec;
  }

  /** Host memory that it takes, bytes. */
  get bytes(): number {
    return this.#buffer === NO_BYTES ? 0 : this.#buffer.buffer.byteLength;
  }

  /** The tensor that runs write to; null while a run makes one of its own. */
  get tensor(): Deno.PointerValue {
    return this.#bound;
  }

  /**
   * Copies what a run made, releases it, and keeps the shape for {@linkcode bind}.
   *
   * @param made The run's own tensor.
   * @throws {SluiceError} `execution_failed` when it is not of the declared datatype.
   */
  take(made: Deno.PointerObject): Tensor {
    const { runtime } = this.#environment;
    const { name, datatype } = this.#spec;
    try {
      const { elementType, shape } = tensorInfo(runtime, made);
      if (elementType !== ELEMENT_TYPE_OF[datatype]) {
        throw new SluiceError(
          "execution_failed",
          `Output "${name}" came as ${
            elementType ?? "an unknown type"
          }; the model declares ${datatype}`,
        );
      }
      if (datatype === "BYTES") {
        const { bytes, starts } = readStrings(runtime, made, elementCount(shape));
        return { name, datatype, shape, data: frameJoined(bytes, starts) };
      }
      const data = this.#room(byteLength(datatype, shape));
      copyTensor(runtime, made, data);
      return { name, datatype, shape, data };
    } finally {
      runtime.api.ReleaseValue.call(made);
    }
  }

  /**
   * Lets later runs write where `tensor`, the result of {@linkcode take}, lies. Not possible for
   * strings, nor for what is passed through.
   */
  bind(tensor: Tensor): void {
    if (tensor.datatype === "BYTES" || this.#proof.isPassedThrough) return;
    this.unbind();
    this.#bound = wrapTensor(
      this.#environment,
      ELEMENT_TYPE_OF[tensor.datatype],
      tensor.shape,
      tensor.data,
    );
    this.#data = tensor.data;
  }

  /** Whether a run has yet to show that it writes to the buffer. */
  get unproven(): boolean {
    return this.#bound !== null && this.#proof.isOpen;
  }

  /** Before a run of an unproven output. */
  mark(): void {
    this.#proof.mark(this.#data);
  }

  /** After that run: whether it wrote to the buffer. */
  prove(): boolean {
    return this.#proof.prove(this.#data);
  }

  /** Lets runs make tensors of their own again. */
  unbind(): void {
    if (this.#bound === null) return;
    this.#environment.runtime.api.ReleaseValue.call(this.#bound);
    this.#bound = null;
  }

  /** Frees the tensor and the buffer: a view of it is empty from then on. */
  [Symbol.dispose](): void {
    this.unbind();
    if (this.#buffer !== NO_BYTES) this.#buffer.buffer.transfer(0);
  }

  #room(length: number): Uint8Array<ArrayBuffer> {
    if (this.bytes < length || this.#buffer === NO_BYTES) {
      this.#buffer = stableBytes(length);
    }
    return new Uint8Array(this.#buffer.buffer, 0, length);
  }
}
