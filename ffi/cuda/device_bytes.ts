/**
 * Bytes on a device, however they came there: copies to, from and between them.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE, CudaError } from "./errors.ts";
import { Owned } from "./owned.ts";
import { pinnedMemoryOf } from "./pinned.ts";
import type { Stream } from "./stream.ts";
import type { SymbolName } from "./symbols.ts";

/** Where host memory may be. Bytes of an explicit buffer cost least. */
export type HostBytes = ArrayBufferView<ArrayBuffer>;

/** Which bytes to copy. */
export interface CopyRange {
  /** Where to write, bytes from the start; 0 by default. */
  readonly offset?: number;
  /** Where to read; 0 by default. */
  readonly sourceOffset?: number;
  /** How many; by default all from there to the source's end. */
  readonly bytes?: number;
}

/** What to fill memory with. */
export interface Pattern {
  /** Width of the value. */
  readonly bits: 8 | 16 | 32;
  /** The value, unsigned. */
  readonly value: number;
}

const STREAM_0 = 0n;

/**
 * Memory on a device. Every copy is checked against its ends before the driver sees it.
 *
 * With a stream a copy is enqueued there and the call returns; host memory stays referenced and
 * what is owned undisposable until the stream or an event says that it is done. Without a stream it
 * is done when the call returns, for every stream.
 */
export abstract class DeviceBytes extends Owned {
  /** The context that it belongs to. */
  abstract readonly context: Context;

  /** How many bytes there are. */
  abstract get bytes(): number;

  /** Where it starts on the device, for a kernel's argument. */
  get address(): bigint {
    return this.live("address");
  }

  /** Copies host memory to the device. */
  write(source: HostBytes, offset = 0, stream?: Stream): void {
    const call = stream === undefined ? "cuMemcpyHtoD_v2" : "cuMemcpyHtoDAsync_v2";
    const to = this.#span(call, offset, source.byteLength);
    const host = hostBytes(call, source);
    const driver = this.context.enter();
    const size = BigInt(host.byteLength);
    if (stream === undefined) {
      driver.check("cuMemcpyHtoD_v2", driver.symbols.cuMemcpyHtoD_v2(to, host, size));
      // The driver may return with the bytes still in its own staging memory.
      this.#finish();
    } else {
      driver.check(
        "cuMemcpyHtoDAsync_v2",
        driver.symbols.cuMemcpyHtoDAsync_v2(to, host, size, this.#on(call, stream)),
      );
      keepHost(stream, host);
      stream.inFlight.keep(this);
    }
  }

  /** Copies memory of the device to the host. */
  read(target: HostBytes, offset = 0, stream?: Stream): void {
    const call = stream === undefined ? "cuMemcpyDtoH_v2" : "cuMemcpyDtoHAsync_v2";
    const from = this.#span(call, offset, target.byteLength);
    const host = hostBytes(call, target);
    const driver = this.context.enter();
    const size = BigInt(host.byteLength);
    if (stream === undefined) {
      driver.check("cuMemcpyDtoH_v2", driver.symbols.cuMemcpyDtoH_v2(host, from, size));
    } else {
      driver.check(
        "cuMemcpyDtoHAsync_v2",
        driver.symbols.cuMemcpyDtoHAsync_v2(host, from, size, this.#on(call, stream)),
      );
      keepHost(stream, host);
      stream.inFlight.keep(this);
    }
  }

  /** Copies other memory of the device to this. The two parts must not overlap. */
  copyFrom(source: DeviceBytes, range: CopyRange = {}, stream?: Stream): void {
    const call = "cuMemcpyDtoDAsync_v2";
    const { offset = 0, sourceOffset = 0, bytes = source.bytes - sourceOffset } = range;
    const from = source.#span(call, sourceOffset, bytes);
    const to = this.#span(call, offset, bytes);
    this.context.owns(call, source);
    if (from < to + BigInt(bytes) && to < from + BigInt(bytes)) {
      throw new CudaError(call, CODE.invalidValue, `source and target of ${bytes} bytes overlap`, {
        hint: "Copy by way of other memory.",
      });
    }
    const driver = this.context.enter();
    driver.check(
      call,
      driver.symbols.cuMemcpyDtoDAsync_v2(to, from, BigInt(bytes), this.#on(call, stream)),
    );
    if (stream === undefined) return this.#finish();
    stream.inFlight.keep(source);
    stream.inFlight.keep(this);
  }

  /**
   * Fills with a value.
   *
   * @param count How many values; by default as many as there is room for.
   */
  fill(pattern: Pattern, offset = 0, count?: number, stream?: Stream): void {
    const { bits, value } = pattern;
    const call = `cuMemsetD${bits}Async` as const;
    const width = bits / 8;
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** bits) {
      throw new CudaError(call, CODE.invalidValue, `${value} is no value of ${bits} bits`, {
        hint: `Expected an integer from 0 to ${2 ** bits - 1}.`,
      });
    }
    if (offset % width !== 0) {
      throw new CudaError(call, CODE.invalidValue, `offset ${offset} is unaligned`, {
        hint: `Expected a multiple of ${width}.`,
      });
    }
    const values = count ?? Math.floor((this.bytes - offset) / width);
    const to = this.#span(call, offset, values * width);
    const driver = this.context.enter();
    const on = this.#on(call, stream);
    driver.check(call, driver.symbols[call](to, value, BigInt(values), on));
    if (stream === undefined) this.#finish();
    else stream.inFlight.keep(this);
  }

  /** Address of a part, which has to lie within. */
  #span(call: SymbolName, offset: number, bytes: number): bigint {
    const start = this.live(call);
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
    if (!whole || offset < 0 || bytes < 0 || offset + bytes > this.bytes) {
      throw new CudaError(
        call,
        CODE.invalidValue,
        `${bytes} bytes at offset ${offset} are not within the ${this.label}`,
        { hint: `Expected offset and size to end at ${this.bytes} at most.` },
      );
    }
    return start + BigInt(offset);
  }

  #on(call: SymbolName, stream: Stream | undefined): bigint {
    if (stream === undefined) return STREAM_0;
    this.context.owns(call, stream);
    return stream.live(call);
  }

  /** Waits for stream 0, since the streams here do not wait for it. */
  #finish(): void {
    const { driver } = this.context;
    driver.check("cuStreamSynchronize", driver.symbols.cuStreamSynchronize(STREAM_0));
  }
}

/** Bytes of a view: the one kind of array that a call takes on its fast path. */
function hostBytes(call: SymbolName, view: HostBytes): Uint8Array<ArrayBuffer> {
  // Asking for the buffer also moves a small array out of V8's heap, where it could be moved again.
  const { buffer } = view;
  if (buffer.detached) {
    throw new CudaError(call, CODE.invalidValue, "the host memory has been freed or transferred", {
      hint: "Keep pinned memory until the last copy that uses it.",
    });
  }
  if (buffer.resizable) {
    throw new CudaError(call, CODE.invalidValue, "the host memory may shrink beneath the copy", {
      hint: "Expected a buffer of a fixed length.",
    });
  }
  return view instanceof Uint8Array
    ? view as Uint8Array<ArrayBuffer>
    : new Uint8Array(buffer, view.byteOffset, view.byteLength);
}

function keepHost(stream: Stream, { buffer }: Uint8Array<ArrayBuffer>): void {
  stream.inFlight.keep(pinnedMemoryOf(buffer) ?? buffer);
}
