/**
 * What every CUDA driver does, the vendor's and the software GPU alike: written once, run on both.
 *
 * @module
 */
import type { ConformanceCase } from "./case.ts";
import { DEVICE_CASES } from "./devices.ts";
import { GRAPH_CASES } from "./graphs.ts";
import { LAUNCH_CASES } from "./launches.ts";
import { MEMORY_CASES } from "./memory.ts";
import { MODULE_CASES } from "./modules.ts";
import { STREAM_CASES } from "./streams.ts";
import { VIRTUAL_MEMORY_CASES } from "./virtual_memory.ts";

/** All cases, in the order of the table of functions. */
export const CASES: readonly ConformanceCase[] = [
  ...DEVICE_CASES,
  ...MEMORY_CASES,
  ...VIRTUAL_MEMORY_CASES,
  ...STREAM_CASES,
  ...MODULE_CASES,
  ...LAUNCH_CASES,
  ...GRAPH_CASES,
];
