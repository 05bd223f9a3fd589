/**
 * The Worker behind `ModuleLoader`.
 *
 * @module
 */
import { CODE } from "./errors.ts";
import { loadImage } from "./jit.ts";
import type { LoadAnswer, LoadJob } from "./module_loader.ts";
import { SYMBOLS } from "./symbols.ts";

const { cuCtxSetCurrent, cuModuleLoadDataEx } = SYMBOLS;
const ROWS = { cuCtxSetCurrent, cuModuleLoadDataEx } as const;

/** The part of a Worker's global scope that is used. */
declare const self: {
  onmessage: (event: MessageEvent<LoadJob>) => void;
  postMessage(answer: LoadAnswer): void;
};

let library: Deno.DynamicLibrary<typeof ROWS> | undefined;

self.onmessage = ({ data }) => self.postMessage(answer(data));

function answer({ library: path, context, image }: LoadJob): LoadAnswer {
  library ??= Deno.dlopen(path, ROWS);
  const { symbols } = library;
  const status = symbols.cuCtxSetCurrent(context);
  if (status !== CODE.success) {
    const loaded = { status, handle: 0n, infoLog: "", errorLog: "" };
    return { call: "cuCtxSetCurrent", loaded };
  }
  return { call: "cuModuleLoadDataEx", loaded: loadImage(symbols, image) };
}
