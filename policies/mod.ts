/**
 * The table of policies. A new one is a file beside this, a row here, and passes the suite in
 * `tests/conformance/policy.ts`.
 *
 * @module
 */
import { edf } from "./edf.ts";
import { fair } from "./fair.ts";
import { fifo } from "./fifo.ts";
import { las2d } from "./las_2d.ts";
import { lottery } from "./lottery.ts";
import type { PolicyDefinition } from "./policy.ts";
import { priority } from "./priority.ts";
import { roundRobin } from "./round_robin.ts";
import { srtf } from "./srtf.ts";

/** Every built-in policy by its name. */
export const POLICIES: ReadonlyMap<string, PolicyDefinition> = new Map([
  [fifo.name, fifo],
  [roundRobin.name, roundRobin],
  [fair.name, fair],
  [priority.name, priority],
  [srtf.name, srtf],
  [edf.name, edf],
  [las2d.name, las2d],
  [lottery.name, lottery],
]);

/** The policy of a gateway that is told none: no model, and no request of many iterations, holds up others. */
export const DEFAULT_POLICY: PolicyDefinition = fair;
