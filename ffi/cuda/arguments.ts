/**
 * Arguments of a kernel, laid out once: one buffer of values and one of their addresses, as
 * `cuLaunchKernel` wants them. The driver copies the values during the call, so they may be
 * rewritten in place as soon as a launch has been enqueued.
 *
 * @module
 */

import {
  aligned,
  type Layout,
  layoutOf,
  type ParameterType,
  SCALARS,
  typesOf,
} from "./parameter_types.ts";

/** Smallest buffer: small ones may lie inside V8's heap, where they are moved. */
const LEAST_BYTES = 128;

/** Arguments of one kernel. They have to outlive its launches, not what was launched. */
export class KernelArguments {
  readonly #values: DataView<ArrayBuffer>;
  readonly #parameters: readonly (Layout & { readonly offset: number })[];
  /** `void** kernelParams`: bytes, since other arrays leave V8's fast path. */
  readonly addresses: Uint8Array<ArrayBuffer>;

  /**
   * Lays the arguments out; all are zero.
   *
   * @param types Type of each parameter, or a signature of a letter each, see {@linkcode typesOf}.
   */
  constructor(types: string | readonly ParameterType[]) {
    let end = 0;
    this.#parameters = (typeof types === "string" ? typesOf(types) : types).map((type) => {
      const layout = layoutOf(type);
      const offset = aligned(end, layout.alignment);
      end = offset + layout.bytes;
      return { ...layout, offset };
    });
    this.#values = new DataView(new ArrayBuffer(Math.max(end, LEAST_BYTES)));
    const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(this.#values));
    const addresses = new BigUint64Array(
      new ArrayBuffer(Math.max(this.#parameters.length * 8, LEAST_BYTES)),
    );
    this.#parameters.forEach(({ offset }, index) => addresses[index] = base + BigInt(offset));
    this.addresses = new Uint8Array(addresses.buffer);
  }

  /** Size of each parameter, bytes. */
  get sizes(): readonly number[] {
    return this.#parameters.map(({ bytes }) => bytes);
  }

  /**
   * Sets a parameter that is no struct.
   *
   * @param value A bigint for pointers and 64-bit integers, a number for the rest.
   * @throws {TypeError} When there is no such parameter, or it takes no such value.
   */
  set(index: number, value: number | bigint): void {
    const parameter = this.#parameter(index);
    if (parameter.fields.length > 1) {
      throw new TypeError(`Argument ${index} is a struct: set its fields`);
    }
    this.setField(index, 0, value);
  }

  /** Sets all of a struct's fields: nested structs and arrays are written out one after another. */
  setFields(index: number, values: readonly (number | bigint)[]): void {
    const { fields } = this.#parameter(index);
    if (values.length !== fields.length) {
      throw new TypeError(
        `Argument ${index} has ${fields.length} fields, ${values.length} values were given`,
      );
    }
    values.forEach((value, field) => this.setField(index, field, value));
  }

  /** Sets one field of a struct, counted as {@linkcode setFields} does. */
  setField(index: number, field: number, value: number | bigint): void {
    const parameter = this.#parameter(index);
    const target = parameter.fields[field];
    if (target === undefined) throw new TypeError(`Argument ${index} has no field ${field}`);
    const scalar = SCALARS[target.type];
    if (!scalar.accepts(value)) {
      throw new TypeError(
        `Argument ${index} is of type ${target.type}: expected ${scalar.expected}, got ${
          typeof value === "bigint" ? `${value}n` : value
        }`,
      );
    }
    scalar.write(this.#values, parameter.offset + target.offset, value);
  }

  /** Sets the parameters in order; a list of values is a struct's. */
  setAll(...values: readonly (number | bigint | readonly (number | bigint)[])[]): this {
    if (values.length !== this.#parameters.length) {
      throw new TypeError(
        `${this.#parameters.length} arguments are expected, ${values.length} were given`,
      );
    }
    values.forEach((value, index) => {
      if (typeof value === "object") this.setFields(index, value);
      else this.set(index, value);
    });
    return this;
  }

  #parameter(index: number): Layout & { readonly offset: number } {
    const parameter = this.#parameters[index];
    if (parameter === undefined) {
      throw new TypeError(`There is no argument ${index}: ${this.#parameters.length} are expected`);
    }
    return parameter;
  }
}
