/**
 * State of all open sequences of one model.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import type { SequenceState } from "../device.ts";
import { SluiceError } from "../errors.ts";
import type { CarriedTensor } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import { StateBatch } from "./state_batch.ts";
import { type Account, StateRows } from "./state_rows.ts";

/**
 * Each sequence is in one batch: with those that it ran with last. Rows are copied when an iteration
 * wants other members, and when one of them leaves. At every moment a sequence takes at most twice
 * the bytes of its row: the second rows of a batch are freed before its members move.
 */
export class SequenceStates implements Disposable {
  readonly #environment: Environment;
  readonly #carry: readonly CarriedTensor[];
  readonly #batches = new Map<SequenceState, StateBatch>();
  readonly #account: Account;
  #bytes = 0;

  /**
   * No sequence is open.
   *
   * @param account Told what is taken, and given back when negative.
   */
  constructor(
    environment: Environment,
    carry: readonly CarriedTensor[],
    account: Account = () => {},
  ) {
    this.#environment = environment;
    this.#carry = carry;
    this.#account = (bytes) => {
      this.#bytes += bytes;
      account(bytes);
    };
  }

  /** What all of them take now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins a sequence.
   *
   * @param initial Values by carried input; those that are missing are zeros.
   * @throws {SluiceError} `out_of_memory`
   */
  open(initial: ReadonlyMap<string, Tensor>): SequenceState {
    const state: SequenceState = {
      read: () => this.#read(state),
      [Symbol.dispose]: () => this.#close(state),
    };
    const batch = this.#newBatch([state]);
    for (const [i, { input }] of this.#carry.entries()) {
      const value = initial.get(input);
      if (value !== undefined) batch.current.tensors[i].writeRow(0, value.data);
    }
    this.#batches.set(state, batch);
    return state;
  }

  /**
   * The batch of exactly these sequences in this order, which no iteration is using.
   *
   * @throws {SluiceError} `out_of_memory`; `internal` unless all are open, each is there once,
   *   none is in flight, and they can run together. Then all are as they were.
   */
  join(states: readonly SequenceState[]): StateBatch {
    const homes = new Set(states.map((state) => this.#idleBatchOf(state)));
    const [home] = homes;
    if (home.consistsOf(states)) return home;
    const chosen = new Set(states);
    if (chosen.size < states.length) {
      throw new SluiceError("internal", "A sequence was joined to itself");
    }
    if (states.length > 1 && this.#carry.some(({ batchAxis }) => batchAxis < 0)) {
      throw new SluiceError("internal", "Sequences were joined that have no axis for it");
    }
    const left = Array.from(homes, ({ members }) => members.filter((one) => !chosen.has(one)));
    return this.#regroup(homes, [states, ...left])[0];
  }

  /** Frees all. No iteration may be in flight. */
  [Symbol.dispose](): void {
    for (const batch of new Set(this.#batches.values())) batch[Symbol.dispose]();
    this.#batches.clear();
  }

  #read(state: SequenceState): Tensor[] {
    const { current, members } = this.#idleBatchOf(state);
    const row = members.indexOf(state);
    return current.tensors.map((tensor) => tensor.readRow(row));
  }

  #close(state: SequenceState): void {
    if (!this.#batches.has(state)) return;
    const home = this.#idleBatchOf(state);
    this.#regroup(new Set([home]), [home.members.filter((member) => member !== state)]);
    this.#batches.delete(state);
  }

  /** Moves sequences into new batches, one for each group; `homes` are where they come from. */
  #regroup(
    homes: ReadonlySet<StateBatch>,
    groups: readonly (readonly SequenceState[])[],
  ): readonly StateBatch[] {
    for (const home of homes) home.dropNext();
    const batches: StateBatch[] = [];
    try {
      for (const members of groups) {
        if (members.length > 0) batches.push(this.#copied(members));
      }
    } catch (error) {
      for (const batch of batches) batch[Symbol.dispose]();
      throw error;
    }
    for (const home of homes) home[Symbol.dispose]();
    for (const batch of batches) {
      for (const member of batch.members) this.#batches.set(member, batch);
    }
    return batches;
  }

  #copied(members: readonly SequenceState[]): StateBatch {
    const batch = this.#newBatch(members);
    for (const [row, member] of members.entries()) {
      const home = this.#idleBatchOf(member);
      batch.current.copyRow(row, home.current, home.members.indexOf(member));
    }
    return batch;
  }

  #newBatch(members: readonly SequenceState[]): StateBatch {
    return new StateBatch(
      members,
      () => new StateRows(this.#environment, this.#carry, members.length, this.#account),
    );
  }

  #idleBatchOf(state: SequenceState): StateBatch {
    const batch = this.#batches.get(state);
    if (batch?.inFlight === false) return batch;
    throw new SluiceError(
      "internal",
      batch === undefined
        ? "The state of a sequence was used that is not open, or is another model's"
        : "The state of a sequence was used while an iteration with it was in flight",
    );
  }
}
