/**
 * How a simulated device shall behave, and what shall go wrong.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Signature } from "../device.ts";
import type { Model } from "../model.ts";
import type { CostTable } from "./cost.ts";

/** What shall go wrong with one iteration. */
export type IterationFault =
  /** The model refuses its input. */
  | "execution_failed"
  /** The device breaks for good when the iteration ends. */
  | "device_failed"
  /** It ends only when `releaseHung` of the device says so. */
  | "hang";

/** Faults to inject, asked for whenever one could happen. */
export interface SimulatedFaults {
  /**
   * What becomes of an iteration.
   *
   * @param index Counts the iterations of this model and version from 0, reloads included.
   */
  iteration?(model: Model, index: number): IterationFault | undefined;
  /** An error fails the staging of a model. */
  stage?(model: Model): Error | undefined;
  /** An error fails the upload. */
  upload?(model: Model): Error | undefined;
}

/** How the simulated device shall behave. */
export interface SimulatedOptions {
  /**
   * Whose time it takes. On the system's an iteration ends when a timer fires, a millisecond late or
   * so; what it reports, and when the next one begins, is as if the timer were exact.
   */
  readonly clock: Clock;
  /** Capacity; 8 GiB when absent. */
  readonly memoryBytes?: number;
  /** Iterations that a lane takes at once; 2 when absent. */
  readonly depth?: number;
  /** Device time by model name; what the size of the file suggests, for models that are not in it. */
  readonly costs?: ReadonlyMap<string, CostTable>;
  /**
   * How much each further busy lane slows an iteration down: with 0.5 and three busy lanes it takes
   * twice its time. 0 when absent: lanes do not disturb each other.
   */
  readonly slowdown?: number;
  /**
   * Device time of one iteration as it was recorded, microseconds; wins over every table and over
   * `slowdown`, which a recorded time contains already.
   *
   * @param index Counts the iterations of this model and version from 0, reloads included.
   */
  durations?(model: Model, index: number): number | undefined;
  /** Time that staging takes, microseconds; none when absent. */
  stageMicros?(model: Model): number;
  /** The size of the file when absent. */
  persistentBytes?(model: Model): number;
  /** The bytes of the inputs and outputs when absent. */
  ephemeralBytes?(model: Model, signature: Signature): number;
  /** Iterations expected to be shorter run in place on an idle lane: no time passes. 0 when absent. */
  readonly inPlaceMicros?: number;
  /** What shall go wrong; nothing when absent. */
  readonly faults?: SimulatedFaults;
}
