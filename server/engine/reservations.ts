/**
 * Device memory for what is no iteration: weights, the state of sequences, and the runs of a probe.
 * Idle lanes make room for it, and the decision log is told, since what lanes can have decides what can run.
 *
 * @module
 */
import type { Lane } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Lanes } from "./lanes.ts";
import type { Scheduler } from "./scheduler.ts";

/** Takes memory beside the engine's lanes and gives it back. */
export class Reservations {
  readonly #lanes: Lanes;
  readonly #scheduler: Scheduler;

  /** `scheduler` has the log; it is about the same lanes. */
  constructor(lanes: Lanes, scheduler: Scheduler) {
    this.#lanes = lanes;
    this.#scheduler = scheduler;
  }

  /** Takes working memory from idle lanes until `bytes` are free, or none is left. */
  makeRoom(bytes: number): void {
    this.#change(() => this.#lanes.makeRoom(bytes));
  }

  /**
   * Takes `bytes` for a model's weights, to be released by the same owner. What was accepted before
   * keeps the working memory that it needs, or it would wait for ever.
   *
   * @throws {SluiceError} `out_of_memory`, naming it as `name`.
   */
  takeWeights(owner: object, name: string, bytes: number): void {
    const { capacityBytes, persistentBytes, stateBytes } = this.#lanes.ledger;
    const needed = Math.max(0, ...this.#scheduler.models.map((loaded) => loaded.neededBytes));
    const most = capacityBytes - persistentBytes - stateBytes - needed;
    if (needed > 0 && bytes > most) throw wouldStarve(name, bytes, most, needed);
    this.#change(() => {
      this.#lanes.makeRoom(bytes);
      this.#lanes.ledger.takePersistent(owner, name, bytes);
    });
  }

  /** Gives weights back; idle lanes keep no more than `laneBytes`. */
  releaseWeights(owner: object, laneBytes: number): void {
    this.#change(() => {
      this.#lanes.ledger.releasePersistent(owner);
      this.#lanes.shrinkTo(laneBytes);
    });
  }

  /** Takes `bytes` for the state of a sequence, to be released by the same owner. False: not now. */
  takeState(owner: object, bytes: number): boolean {
    let taken = false;
    this.#change(() => {
      this.#lanes.makeRoom(bytes);
      taken = this.#lanes.ledger.takeState(owner, bytes);
    });
    return taken;
  }

  /** Gives state back. */
  releaseState(owner: object): void {
    this.#change(() => this.#lanes.ledger.releaseState(owner));
  }

  /**
   * Gives a lane that is none of the engine's so much working memory.
   *
   * @throws {SluiceError} `out_of_memory`
   */
  resize(lane: Lane, bytes: number): void {
    this.#change(() => {
      this.#lanes.makeRoom(bytes - lane.bytes);
      this.#lanes.ledger.setLane(lane.id, bytes);
      lane.resize(bytes);
    });
  }

  #change(act: () => void): void {
    const { log, clock } = this.#scheduler;
    try {
      act();
    } finally {
      log?.reserved(clock.nowMicros(), this.#lanes);
    }
  }
}

function wouldStarve(name: string, bytes: number, most: number, needed: number): SluiceError {
  return new SluiceError(
    "out_of_memory",
    `${name} needs ${bytes} bytes, but only ${Math.max(0, most)} can be had while accepted ` +
      `requests need ${needed} of working memory; try again later, unload a model or raise --memory`,
  );
}
