/**
 * A word of memory that a function of the driver writes its result to.
 *
 * @module
 */

/**
 * Made once and used for many calls, since a typed array for every call would cost more than most
 * calls. It holds its value until the next call that is given it.
 */
export class OutParameter {
  /** What to give as the parameter. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;

  /** A word of zeros. */
  constructor() {
    this.#view = new DataView(new ArrayBuffer(8));
    this.bytes = new Uint8Array(this.#view.buffer as ArrayBuffer);
  }

  /** A handle or an address. */
  get u64(): bigint {
    return this.#view.getBigUint64(0, true);
  }

  /** A `size_t`, which is below 2^53 for all that is counted here; some functions read it first. */
  get size(): number {
    return Number(this.#view.getBigUint64(0, true));
  }

  set size(value: number) {
    this.#view.setBigUint64(0, BigInt(value), true);
  }

  /** An `int` or an enumerator. */
  get i32(): number {
    return this.#view.getInt32(0, true);
  }

  /** A `float`. */
  get f32(): number {
    return this.#view.getFloat32(0, true);
  }
}
