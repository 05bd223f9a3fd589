/**
 * The one account of device memory: weights, lanes and the state of sequences together never exceed
 * the capacity. Every load, every growth and every new sequence asks here first.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";

/** Bytes taken, by who took them. */
export class MemoryLedger {
  readonly #persistent = new Map<object, number>();
  readonly #state = new Map<object, number>();
  readonly #lanes = new Map<number, number>();
  #persistentSum = 0;
  #stateSum = 0;
  #laneSum = 0;

  /** An account with nothing taken. */
  constructor(
    /** What there is, in all. */
    readonly capacityBytes: number,
  ) {}

  /** Sum of weights of loaded models. */
  get persistentBytes(): number {
    return this.#persistentSum;
  }

  /** Sum of what open sequences keep. */
  get stateBytes(): number {
    return this.#stateSum;
  }

  /** What nobody has taken. */
  get freeBytes(): number {
    return this.capacityBytes - this.#persistentSum - this.#laneSum - this.#stateSum;
  }

  /** The invariant: whether so much more would still fit. */
  fits(moreBytes: number): boolean {
    return moreBytes <= this.freeBytes;
  }

  /**
   * Takes `bytes` for a model's weights, to be released by the same owner.
   *
   * @throws {SluiceError} `out_of_memory`, naming it as `name`.
   */
  takePersistent(owner: object, name: string, bytes: number): void {
    if (!this.fits(bytes)) throw this.#refusal(name, bytes);
    this.#persistent.set(owner, bytes);
    this.#persistentSum += bytes;
  }

  /** Gives back what the owner took; nothing when it took nothing. */
  releasePersistent(owner: object): void {
    this.#persistentSum -= this.#persistent.get(owner) ?? 0;
    this.#persistent.delete(owner);
  }

  /** Takes `bytes` for a sequence's state, to be released by the same owner, if they are free. */
  takeState(owner: object, bytes: number): boolean {
    if (!this.fits(bytes)) return false;
    this.#state.set(owner, bytes);
    this.#stateSum += bytes;
    return true;
  }

  /** Gives back what the owner took; nothing when it took nothing. */
  releaseState(owner: object): void {
    this.#stateSum -= this.#state.get(owner) ?? 0;
    this.#state.delete(owner);
  }

  /** Sets a lane's working memory. @throws {SluiceError} `out_of_memory` */
  setLane(id: number, bytes: number): void {
    const more = bytes - (this.#lanes.get(id) ?? 0);
    if (more > 0 && !this.fits(more)) throw this.#refusal(`Lane ${id}`, more);
    if (bytes > 0) this.#lanes.set(id, bytes);
    else this.#lanes.delete(id);
    this.#laneSum += more;
  }

  #refusal(name: string, bytes: number): SluiceError {
    return new SluiceError(
      "out_of_memory",
      `${name} needs ${bytes} bytes, but only ${this.freeBytes} of ${this.capacityBytes} are free ` +
        `(weights ${this.#persistentSum}, lanes ${this.#laneSum}, sequences ${this.#stateSum}); ` +
        "unload a model or raise --memory",
    );
  }
}
