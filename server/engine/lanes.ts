/**
 * The engine's lanes: what runs on each, how busy they are, and their working memory.
 *
 * @module
 */
import type { Device, Lane } from "../../models/device.ts";
import type { LaneView } from "../../policies/policy.ts";
import type { LaneStatistics } from "./api.ts";
import type { Iteration } from "./iteration.ts";
import type { MemoryLedger } from "./memory.ts";

/** One lane with what is in flight on it, oldest first. */
export class EngineLane implements LaneView {
  /** In the order they started; changed by {@linkcode Lanes} alone. */
  readonly running: Iteration[] = [];
  /** Iterations finished. */
  iterations = 0;
  /** Time with at least one iteration running, microseconds, up to the last change. */
  busyMicros = 0;
  /** When it last went from idle to busy; of meaning only while something runs. */
  busySinceMicros = 0;

  /** An idle lane. */
  constructor(
    /** The device's own. */
    readonly lane: Lane,
    /** Takes short iterations alone, and only while no other lane is idle. */
    readonly express: boolean,
  ) {}

  get id(): number {
    return this.lane.id;
  }

  get bytes(): number {
    return this.lane.bytes;
  }

  /** Whether another iteration may be started, be it behind one that runs. */
  get free(): boolean {
    return this.running.length < this.lane.depth;
  }
}

/** All lanes of a device. */
export class Lanes {
  /** In the order they were opened; the same array for good. */
  readonly all: readonly EngineLane[];
  #busy = 0;
  #changedMicros = 0;
  /** Advances by elapsed time divided by the lanes busy meanwhile: the share of each. */
  #shareMicros = 0;

  /** Opens `count` lanes, and the express lane, without working memory; they get it as iterations need it. */
  constructor(
    device: Pick<Device, "openLane">,
    count: number,
    /** Where the lanes' memory is accounted for. */
    readonly ledger: MemoryLedger,
    /** What the express lane takes, which is one more; 0: there is none. */
    readonly expressMicros = 0,
  ) {
    const open = (express: boolean) => new EngineLane(device.openLane(0), express);
    const lanes = Array.from({ length: count }, () => open(false));
    if (expressMicros > 0) lanes.push(open(true));
    this.all = Object.freeze(lanes); // policies see this very array
  }

  /**
   * The lane to fill next: one with a free slot, the least occupied first, among equals the express
   * lane last.
   */
  firstFree(except: ReadonlySet<EngineLane>): EngineLane | undefined {
    let best: EngineLane | undefined;
    for (const lane of this.all) {
      if (!lane.free || except.has(lane)) continue;
      if (best === undefined || lane.running.length < best.running.length) best = lane;
    }
    return best;
  }

  /** What is taken of the device's memory beside these lanes. */
  get reservedBytes(): number {
    let bytes = this.ledger.capacityBytes - this.ledger.freeBytes;
    for (const lane of this.all) bytes -= lane.bytes;
    return bytes;
  }

  /** Working memory that a lane could have, at most, with what runs elsewhere now. */
  reachBytes(lane: EngineLane): number {
    if (lane.running.length > 0) return lane.bytes;
    let bytes = lane.bytes + this.ledger.freeBytes;
    for (const other of this.all) {
      if (other !== lane && other.running.length === 0) bytes += other.bytes;
    }
    return bytes;
  }

  /**
   * Gives a lane at least `bytes` of working memory, where needed at the cost of idle lanes.
   * Nothing runs on a lane that changes: an iteration boundary is where memory moves for free.
   */
  grow(lane: EngineLane, bytes: number): void {
    if (bytes <= lane.bytes) return;
    this.makeRoom(bytes - lane.bytes, lane);
    this.#resize(lane, bytes);
  }

  /** Takes working memory from idle lanes, `except` one, until `bytes` more fit or none is left. */
  makeRoom(bytes: number, except?: EngineLane): void {
    for (const lane of this.all) {
      if (this.ledger.fits(bytes)) return;
      if (lane !== except && lane.running.length === 0 && lane.bytes > 0) this.#resize(lane, 0);
    }
  }

  /** Shrinks idle lanes that are larger than `bytes`. */
  shrinkTo(bytes: number): void {
    for (const lane of this.all) this.shrink(lane, bytes);
  }

  /** Shrinks a lane that is larger than `bytes`, if it is idle. */
  shrink(lane: EngineLane, bytes: number): void {
    if (lane.running.length === 0 && lane.bytes > bytes) this.#resize(lane, bytes);
  }

  #resize(lane: EngineLane, bytes: number): void {
    this.ledger.setLane(lane.id, bytes);
    lane.lane.resize(bytes);
  }

  /** Puts an iteration on its lane, just before the device is given it. */
  started(lane: EngineLane, iteration: Iteration, nowMicros: number): void {
    this.#advance(nowMicros);
    const before = lane.running.at(-1);
    lane.running.push(iteration);
    if (before !== undefined) {
      iteration.beganMicros = Math.max(nowMicros, before.untilMicros);
      return;
    }
    this.#busy++;
    lane.busySinceMicros = nowMicros;
    this.#begin(iteration, nowMicros);
  }

  #begin(iteration: Iteration, nowMicros: number): void {
    iteration.beganMicros = nowMicros;
    iteration.shareMicros = this.#shareMicros;
  }

  /**
   * Takes a finished iteration off its lane.
   *
   * @returns Lanes busy meanwhile, on average over the iteration: at least 1.
   */
  finished(lane: EngineLane, iteration: Iteration, nowMicros: number): number {
    this.#advance(nowMicros);
    const place = lane.running.indexOf(iteration);
    lane.running.splice(place, 1);
    lane.iterations++;
    const [next] = lane.running;
    if (next === undefined) {
      this.#busy--;
      lane.busyMicros += nowMicros - lane.busySinceMicros;
    } else if (place === 0) this.#begin(next, nowMicros);
    const elapsed = nowMicros - iteration.beganMicros;
    const share = this.#shareMicros - iteration.shareMicros;
    return share > 0 ? Math.max(1, elapsed / share) : 1;
  }

  #advance(nowMicros: number): void {
    if (this.#busy > 0) this.#shareMicros += (nowMicros - this.#changedMicros) / this.#busy;
    this.#changedMicros = nowMicros;
  }

  /** Figures of every lane, with the busy time of what still runs. */
  statistics(nowMicros: number): LaneStatistics[] {
    return this.all.map((lane) => ({
      id: lane.id,
      bytes: lane.bytes,
      busyMicros: lane.busyMicros +
        (lane.running.length > 0 ? nowMicros - lane.busySinceMicros : 0),
      iterations: lane.iterations,
      running: lane.running.map((iteration) => iteration.model),
    }));
  }

  /** Gives the lanes back to the device. Nothing may run. */
  close(): void {
    for (const lane of this.all) lane.lane[Symbol.dispose]();
  }
}
