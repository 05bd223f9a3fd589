/**
 * Streams: what is enqueued on one runs in order, and beside what is on others.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE, CudaError } from "./errors.ts";
import { CudaEvent } from "./event.ts";
import { InFlight } from "./in_flight.ts";
import { Owned } from "./owned.ts";

// Stream 0, which others of the process may use, does not hold it up.
const NON_BLOCKING = 1; // CU_STREAM_NON_BLOCKING

/** A stream. Disposing it waits for its work; `await using` does so without blocking. */
export class Stream extends Owned implements AsyncDisposable {
  /** The context that it belongs to. */
  readonly context: Context;
  /** What its work uses. */
  readonly inFlight: InFlight;
  /** Whether what is enqueued becomes a graph instead of running; see `captureGraph()`. */
  capturing = false;
  #milestone: CudaEvent | undefined;

  /**
   * A stream without work.
   *
   * @param priority The lower, the more urgent; see {@linkcode Context.streamPriorities}.
   * @throws {CudaError}
   */
  constructor(context: Context, priority = 0) {
    const driver = context.enter();
    const { least, greatest } = context.streamPriorities();
    if (!Number.isInteger(priority) || priority > least || priority < greatest) {
      throw new CudaError(
        "cuStreamCreateWithPriority",
        CODE.invalidValue,
        `there is no priority ${priority}`,
        { hint: `Expected an integer from ${greatest}, the most urgent, to ${least}.` },
      );
    }
    driver.check(
      "cuStreamCreateWithPriority",
      driver.symbols.cuStreamCreateWithPriority(driver.out.bytes, NON_BLOCKING, priority),
    );
    super(context, `stream ${hex(driver.out.u64)}`, driver.out.u64);
    this.context = context;
    this.inFlight = new InFlight(this.label, () => this.#refresh(), () => this.#sweep());
  }

  /** The priority that the driver gave it. */
  get priority(): number {
    const handle = this.live("cuStreamGetPriority");
    const driver = this.context.enter();
    driver.check(
      "cuStreamGetPriority",
      driver.symbols.cuStreamGetPriority(handle, driver.out.bytes),
    );
    return driver.out.i32;
  }

  /**
   * Whether all its work is done.
   *
   * @throws {CudaError} When work has met a fault.
   */
  query(): boolean {
    const handle = this.live("cuStreamQuery");
    // Not enter(): what disposing something else has left says nothing about this.
    const driver = this.context.makeCurrent();
    const status = driver.symbols.cuStreamQuery(handle);
    if (status === CODE.notReady) return false;
    driver.check("cuStreamQuery", status);
    this.inFlight.finished();
    return true;
  }

  /** Waits, without giving way to anything else, until all its work is done. */
  synchronize(): void {
    const handle = this.live("cuStreamSynchronize");
    const driver = this.context.enter();
    driver.check("cuStreamSynchronize", driver.symbols.cuStreamSynchronize(handle));
    this.inFlight.finished();
  }

  /** Settles once all its work is done. */
  done(): Promise<void> {
    return this.context.poller.done(this);
  }

  /** Lets what is enqueued from now on wait for the event as it was last recorded. */
  wait(event: CudaEvent): void {
    const handle = this.live("cuStreamWaitEvent");
    const driver = this.context.enter();
    this.context.owns("cuStreamWaitEvent", event);
    driver.check(
      "cuStreamWaitEvent",
      driver.symbols.cuStreamWaitEvent(handle, event.live("cuStreamWaitEvent"), 0),
    );
  }

  /** Waits for its work without blocking, then disposes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.disposed) return;
    try {
      await this.done();
    } catch (error) {
      this.releaseFailed(error);
    }
    this[Symbol.dispose]();
  }

  /** Waits and destroys. The driver would not wait, but what copies use may be freed next. */
  protected override release(handle: bigint): void {
    const driver = this.context.makeCurrent();
    const waited = driver.symbols.cuStreamSynchronize(handle);
    const destroyed = driver.symbols.cuStreamDestroy_v2(handle);
    this.inFlight.finished();
    this.#milestone?.[Symbol.dispose]();
    driver.check("cuStreamSynchronize", waited);
    driver.check("cuStreamDestroy_v2", destroyed);
  }

  #refresh(): void {
    if (this.capturing) return; // to ask would spoil the capture
    try {
      this.query();
    } catch {
      // Whatever it is, the driver keeps it for the next call, and nothing runs after it.
      this.inFlight.finished();
    }
  }

  /** Lets go of what lay before the milestone, once the device has passed it, and sets a new one. */
  #sweep(): void {
    if (this.capturing) return; // it would be captured, too
    try {
      if (this.#milestone?.query() === false) return;
      this.#milestone ??= new CudaEvent(this.context, { timed: false });
      this.#milestone.record(this);
    } catch {
      // What is in flight has been enqueued all the same; a fault is told by the next call.
      this.#milestone?.[Symbol.dispose]();
      this.#milestone = undefined;
    }
  }
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}
