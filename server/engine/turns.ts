/**
 * When decisions are made: in turns, each of as many decisions as there are free slots to fill. All
 * that arrives in one round of the event loop takes part in the same turn.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type { EngineLane } from "./lanes.ts";

/** Longest stretch of iterations run in place before the event loop gets its turn. */
const TURN_MICROS = 1000;

/** What is done in a turn. */
export interface TurnParts {
  /** Whose time it is. */
  readonly clock: Clock;
  /** Called before the first decision. */
  begins(): void;
  /** One decision; `idleLanes` were passed over in this turn. False when there is none to make. */
  decide(nowMicros: number, idleLanes: Set<EngineLane>): boolean;
  /** Called after the last. */
  ended(): void;
}

/** Takes turns: now, or soon, and never one inside another. */
export class Turns {
  readonly #parts: TurnParts;
  readonly #idleLanes = new Set<EngineLane>();
  #planned = false;
  #underWay = false;
  /** False in a replay, where the log says when to decide: no turn is taken. */
  selfDriven = true;

  /** None is planned. */
  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  /** A turn soon: what arrives until then takes part in it. */
  plan(): void {
    if (this.#planned || this.#underWay || !this.selfDriven) return;
    this.#takeSoon();
  }

  /** A turn now, unless one is under way, which sees to what has changed. */
  take(): void {
    if (this.#underWay || !this.selfDriven) return;
    const { clock } = this.#parts;
    this.#underWay = true;
    this.#parts.begins();
    this.#idleLanes.clear();
    const startedMicros = clock.nowMicros();
    for (let nowMicros = startedMicros; this.#parts.decide(nowMicros, this.#idleLanes);) {
      if (nowMicros - startedMicros > TURN_MICROS) {
        this.#takeSoon();
        break;
      }
      nowMicros = clock.nowMicros();
    }
    this.#underWay = false;
    this.#parts.ended();
  }

  #takeSoon(): void {
    this.#planned = true;
    this.#parts.clock.soon(this.#plannedTurn);
  }

  readonly #plannedTurn = (): void => {
    this.#planned = false;
    this.take();
  };
}
