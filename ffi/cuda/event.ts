/**
 * Events: marks in a stream that can be asked about, waited for and timed.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE } from "./errors.ts";
import { Owned } from "./owned.ts";
import type { Stream } from "./stream.ts";

const DISABLE_TIMING = 2; // CU_EVENT_DISABLE_TIMING
const EXTERNAL = 1; // CU_EVENT_RECORD_EXTERNAL

/** How an event is made. */
export interface EventOptions {
  /** Whether it notes the time, which makes it dearer to wait for. Yes by default. */
  readonly timed?: boolean;
}

/** An event, to be recorded again and again. */
export class CudaEvent extends Owned {
  /** The context that it belongs to. */
  readonly context: Context;
  #stream: Stream | undefined;
  #mark = 0;

  /** An event that has not been recorded, which counts as one that has fired. */
  constructor(context: Context, options: EventOptions = {}) {
    const driver = context.enter();
    const flags = options.timed === false ? DISABLE_TIMING : 0;
    driver.check("cuEventCreate", driver.symbols.cuEventCreate(driver.out.bytes, flags));
    super(context, `event 0x${driver.out.u64.toString(16)}`, driver.out.u64);
    this.context = context;
  }

  /** Fires once all that is on the stream now is done. An earlier recording is forgotten. */
  record(stream: Stream): void {
    const handle = this.live("cuEventRecord");
    const driver = this.context.enter();
    this.context.owns("cuEventRecord", stream);
    driver.check(
      "cuEventRecord",
      driver.symbols.cuEventRecord(handle, stream.live("cuEventRecord")),
    );
    this.#stream = stream;
    this.#mark = stream.inFlight.mark;
  }

  /**
   * Makes the recording a node of the graph that is being captured from the stream: it fires in
   * every launch. {@linkcode record} would only order the capture.
   */
  recordInGraph(stream: Stream): void {
    const handle = this.live("cuEventRecordWithFlags");
    const driver = this.context.enter();
    this.context.owns("cuEventRecordWithFlags", stream);
    driver.check(
      "cuEventRecordWithFlags",
      driver.symbols.cuEventRecordWithFlags(
        handle,
        stream.live("cuEventRecordWithFlags"),
        EXTERNAL,
      ),
    );
    stream.inFlight.keep(this);
  }

  /**
   * Whether it has fired.
   *
   * @throws {CudaError} When the work before it has met a fault.
   */
  query(): boolean {
    const handle = this.live("cuEventQuery");
    // Not enter(): what disposing something else has left says nothing about this.
    const driver = this.context.makeCurrent();
    const status = driver.symbols.cuEventQuery(handle);
    if (status === CODE.notReady) return false;
    driver.check("cuEventQuery", status);
    this.#fired();
    return true;
  }

  /** Waits, without giving way to anything else, until it has fired. */
  synchronize(): void {
    const handle = this.live("cuEventSynchronize");
    const driver = this.context.enter();
    driver.check("cuEventSynchronize", driver.symbols.cuEventSynchronize(handle));
    this.#fired();
  }

  /** Settles once it has fired. */
  done(): Promise<void> {
    return this.context.poller.done(this);
  }

  /**
   * Time on the device between two events, microseconds; a fraction, as the driver counts halves.
   *
   * @throws {CudaError} When either has not fired, or was not recorded, or is not timed.
   */
  elapsedMicros(since: CudaEvent): number {
    const end = this.live("cuEventElapsedTime");
    const start = since.live("cuEventElapsedTime");
    const driver = this.context.enter();
    this.context.owns("cuEventElapsedTime", since);
    const status = driver.symbols.cuEventElapsedTime(driver.out.bytes, start, end);
    if (status === CODE.invalidHandle) {
      throw driver.failure("cuEventElapsedTime", status, {
        text: `there is no time between ${since.label} and ${this.label}`,
        hint: "Make both timed, and record both first.",
      });
    }
    driver.check("cuEventElapsedTime", status);
    return driver.out.f32 * 1000;
  }

  /** Gives it back; the driver does so once it has fired. */
  protected override release(handle: bigint): void {
    const driver = this.context.makeCurrent();
    driver.check("cuEventDestroy_v2", driver.symbols.cuEventDestroy_v2(handle));
  }

  #fired(): void {
    this.#stream?.inFlight.finished(this.#mark);
    this.#stream = undefined;
  }
}
