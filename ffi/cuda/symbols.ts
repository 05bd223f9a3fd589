/**
 * Every function of the CUDA driver that is called here: one row a function, in a file a chapter.
 *
 * A row's name is the one that the library exports, with its version: `cuMemAlloc` alone is the
 * 32-bit function of 2007. Rows say how C declares the function; types follow three rules:
 *
 * - Handles and device addresses are `u64`, a `bigint` here. One given as a number falls off V8's
 *   fast path.
 * - What the driver reads or writes while the call lasts is a `buffer`.
 * - No row is `nonblocking`: that runs on another thread, where no context is current.
 *
 * A row is `optional` where drivers of {@linkcode MINIMUM_VERSION} lack it; what does without it is
 * said there.
 *
 * @module
 */
import { CONTEXT } from "./symbols/context.ts";
import { DEVICE } from "./symbols/device.ts";
import { GRAPH } from "./symbols/graph.ts";
import { MEMORY } from "./symbols/memory.ts";
import { MODULE } from "./symbols/module.ts";
import { STREAM } from "./symbols/stream.ts";
import { VIRTUAL_MEMORY } from "./symbols/virtual_memory.ts";

/**
 * The oldest driver that has every row which is not optional, as `cuDriverGetVersion` writes 12.0:
 * `cuGraphExecUpdate_v2` and `cuGraphKernelNodeGetParams_v2` came last.
 */
export const MINIMUM_VERSION = 12_000;

/** The table. */
export const SYMBOLS:
  & typeof DEVICE
  & typeof CONTEXT
  & typeof MEMORY
  & typeof VIRTUAL_MEMORY
  & typeof STREAM
  & typeof MODULE
  & typeof GRAPH = {
    ...DEVICE,
    ...CONTEXT,
    ...MEMORY,
    ...VIRTUAL_MEMORY,
    ...STREAM,
    ...MODULE,
    ...GRAPH,
  };

/** Name of a row. */
export type SymbolName = keyof typeof SYMBOLS;

/** The rows, bound to a library. Optional ones that it lacks are null. */
export type Symbols = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];
