/**
 * One iteration as a graph: captured once, then replayed by a single call.
 *
 * @module
 */
import { CudaEvent } from "../../ffi/cuda/event.ts";
import { captureGraph } from "../../ffi/cuda/graph.ts";
import type { GraphExec } from "../../ffi/cuda/graph_exec.ts";
import type { PinnedMemory } from "../../ffi/cuda/pinned.ts";
import { SluiceError } from "../errors.ts";
import { byteLength, type Tensor } from "../tensor.ts";
import type { CudaLane } from "./lane.ts";
import type { IterationPlan } from "./plan.ts";
import type { ReplayParts } from "./replay_pool.ts";

/** A plan on one lane, with host buffers of its own: one iteration at a time. */
export class Replay implements Disposable {
  /** Where it runs. */
  readonly lane: CudaLane;
  /** Views of the host buffer that an iteration leaves its answer in. */
  readonly outputs: readonly Tensor[];
  readonly #plan: IterationPlan;
  readonly #parts: ReplayParts;
  readonly #memory: PinnedMemory;
  readonly #host: Uint8Array<ArrayBuffer>;
  /** What only an iteration needs, not its answer. */
  readonly #running: DisposableStack;
  readonly #start: CudaEvent;
  readonly #end: CudaEvent;
  readonly #done: CudaEvent;
  readonly #graph: GraphExec;

  /**
   * Captures it. The lane's memory has to be there; what it has come to be later does not matter.
   *
   * @throws {CudaError}
   */
  constructor(plan: IterationPlan, lane: CudaLane, parts: ReplayParts) {
    this.lane = lane;
    this.#plan = plan;
    this.#parts = parts;
    const { context } = lane.stream;
    using undone = new DisposableStack();
    using running = new DisposableStack();
    this.#memory = undone.adopt(
      parts.pinned.take(plan.hostBytes),
      (memory) => parts.pinned.giveBack(memory),
    );
    this.#host = this.#memory.array;
    this.#start = running.use(new CudaEvent(context));
    this.#end = running.use(new CudaEvent(context));
    // A graph's own recordings tell the time; whether they have fired is sure for this one only.
    this.#done = running.use(new CudaEvent(context, { timed: false }));
    this.#graph = running.use(this.#capture());
    for (const { offset, data } of plan.constants) this.#host.set(data, offset);
    this.outputs = plan.outputs.map((output) => {
      if (!("from" in output)) return { ...output, data: output.data.slice() };
      const { shape, hostOffset } = output;
      const end = hostOffset + byteLength(shape.datatype, shape.shape);
      return { ...shape, data: this.#host.subarray(hostOffset, end) };
    });
    this.#running = running.move();
    undone.move();
  }

  /** Pinned memory that it holds. */
  get hostBytes(): number {
    return this.#memory.bytes;
  }

  /** Whether it can run no more. */
  get retired(): boolean {
    return this.#running.disposed;
  }

  /** Time that the last iteration took on the device, once it has ended. */
  get deviceMicros(): number {
    return this.#end.elapsedMicros(this.#start);
  }

  /**
   * Joins the pieces of a batch in the host buffer.
   *
   * @throws {SluiceError} `invalid_argument` unless they fill the inputs exactly.
   */
  write(inputs: readonly (readonly Uint8Array<ArrayBuffer>[])[]): void {
    for (const [i, { shape, offset }] of this.#plan.inputs.entries()) {
      const pieces = inputs[i] ?? [];
      const expected = byteLength(shape.datatype, shape.shape);
      const given = pieces.reduce((sum, { length }) => sum + length, 0);
      if (given !== expected) {
        throw new SluiceError(
          "invalid_argument",
          `Input "${shape.name}" has ${given} bytes; its shape [${shape.shape}] of ` +
            `${shape.datatype} takes ${expected} bytes`,
        );
      }
      let at = offset;
      for (const piece of pieces) {
        this.#host.set(piece, at);
        at += piece.length;
      }
    }
  }

  /**
   * Runs it behind what is on the lane.
   *
   * @returns Fires when all is done.
   * @throws {CudaError}
   */
  launch(): CudaEvent {
    const { stream } = this.lane;
    this.#graph.launch(stream);
    this.#done.record(stream);
    return this.#done;
  }

  /** Frees all but the outputs; nothing of it may run, from now on. */
  retire(): void {
    this.#running[Symbol.dispose]();
  }

  /** Frees all. The outputs' memory is another's from then on. */
  [Symbol.dispose](): void {
    this.retire();
    this.#parts.pinned.giveBack(this.#memory);
  }

  #capture(): GraphExec {
    const { weights, kernels } = this.#parts;
    const { stream, range } = this.lane;
    const { inputBytes, launches, copiesOut } = this.#plan;
    const bases = { arena: range.address, weights: weights?.address ?? 0n };
    const prepared = launches.map((launch) => kernels.launch(launch, bases));
    using graph = captureGraph(stream, () => {
      this.#start.recordInGraph(stream);
      if (inputBytes > 0) range.write(this.#host.subarray(0, inputBytes), 0, stream);
      for (const launch of prepared) launch.enqueue(stream);
      for (const { from, hostOffset, bytes } of copiesOut) {
        range.read(this.#host.subarray(hostOffset, hostOffset + bytes), from, stream);
      }
      this.#end.recordInGraph(stream);
    });
    return graph.instantiate();
  }
}
