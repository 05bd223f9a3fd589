/**
 * Finds and opens ONNX Runtime's shared library, the one that the npm package `onnxruntime-node`
 * carries, and binds the function table in it.
 *
 * @module
 */
import { OnnxRuntimeError, OnnxRuntimeUnavailableError } from "./errors.ts";
import { setNativeEnvironment } from "../libc/environment.ts";
import { API, API_BASE, API_VERSION } from "./symbols.ts";

/** The bound rows of a table of slots. */
export type BoundTable<Table extends Record<string, Deno.ForeignFunction>> = {
  readonly [Name in keyof Table]: Deno.UnsafeFnPointer<Table[Name]>;
};

/** The library's file by platform, below `bin/napi-v6` of the npm package. */
const LIBRARY_FILES: Readonly<Record<string, string>> = {
  "linux-x86_64": "linux/x64/libonnxruntime.so.1",
  "linux-aarch64": "linux/arm64/libonnxruntime.so.1",
  "darwin-aarch64": "darwin/arm64/libonnxruntime.1.dylib",
};

const POINTER_BYTES = 8;

/** An open library with its function table. */
export class OnnxRuntime implements Disposable {
  readonly #library: Deno.DynamicLibrary<{ OrtGetApiBase: { parameters: []; result: "pointer" } }>;
  /** Release of the library, e.g. `1.30.0`. */
  readonly version: string;
  /** The function table. Wrap what returns a status in {@linkcode check}. */
  readonly api: BoundTable<typeof API>;

  /** Use {@linkcode openOnnxRuntime}. */
  constructor(
    library: Deno.DynamicLibrary<{ OrtGetApiBase: { parameters: []; result: "pointer" } }>,
    version: string,
    api: BoundTable<typeof API>,
  ) {
    this.#library = library;
    this.version = version;
    this.api = api;
  }

  /**
   * Does nothing for a null status, else releases it and throws what it says.
   *
   * @param call The function that returned it.
   * @throws {OnnxRuntimeError}
   */
  check(call: string, status: Deno.PointerValue): void {
    if (status === null) return;
    const code = this.api.GetErrorCode.call(status);
    const message = this.api.GetErrorMessage.call(status);
    const reason = message === null ? "" : Deno.UnsafePointerView.getCString(message);
    this.api.ReleaseStatus.call(status);
    throw new OnnxRuntimeError(code, call, reason);
  }

  /**
   * Makes a call whose last parameter receives a pointer or a `size_t`, and returns that word.
   *
   * @throws {OnnxRuntimeError}
   */
  word(call: string, invoke: (out: Uint8Array<ArrayBuffer>) => Deno.PointerValue): bigint {
    const out = new DataView(new ArrayBuffer(POINTER_BYTES));
    this.check(call, invoke(new Uint8Array(out.buffer)));
    return out.getBigUint64(0, true);
  }

  /**
   * Makes a call whose last parameter receives a handle.
   *
   * @throws {OnnxRuntimeError} Also when the handle is null.
   */
  handle(
    call: string,
    invoke: (out: Uint8Array<ArrayBuffer>) => Deno.PointerValue,
  ): Deno.PointerObject {
    const handle = Deno.UnsafePointer.create(this.word(call, invoke));
    if (handle === null) throw new OnnxRuntimeError(1, call, "It returned no handle.");
    return handle;
  }

  /** Closes the library. Everything made with it must have been released before. */
  [Symbol.dispose](): void {
    this.#library.close();
  }
}

/**
 * Opens ONNX Runtime.
 *
 * @param path The shared library; by default the one in the npm package `onnxruntime-node`.
 * @throws {OnnxRuntimeUnavailableError} It says whether the library is not installed, not permitted
 * or too old.
 */
export function openOnnxRuntime(path: string = packagedLibrary()): OnnxRuntime {
  // The packaged build has a telemetry client, which keeps files in the folder for temporary ones.
  try {
    setNativeEnvironment("ORT_DISABLE_TELEMETRY", "1");
  } catch (error) {
    throw notPermitted(path, error as Error);
  }
  const library = openLibrary(path);
  try {
    const base = bindTable(library.symbols.OrtGetApiBase(), API_BASE);
    const version = Deno.UnsafePointerView.getCString(base.GetVersionString.call()!);
    const table = base.GetApi.call(API_VERSION);
    if (table === null) {
      throw new OnnxRuntimeUnavailableError(
        "too_old",
        `ONNX Runtime ${version} (${path}) is too old: API version ${API_VERSION} is needed, which 1.${API_VERSION} and later have.`,
      );
    }
    return new OnnxRuntime(library, version, bindTable(table, API));
  } catch (error) {
    library.close();
    throw error instanceof Deno.errors.NotCapable ? notPermitted(path, error) : error;
  }
}

function notPermitted(path: string, cause: Error): OnnxRuntimeUnavailableError {
  return new OnnxRuntimeUnavailableError(
    "not_permitted",
    `ONNX Runtime (${path}) may not be used: run Deno with --allow-ffi, without a path, since its ` +
      "functions are reached by their addresses.",
    { cause },
  );
}

/** Path of the shared library inside the npm package. */
function packagedLibrary(): string {
  const platform = `${Deno.build.os}-${Deno.build.arch}`;
  const file = LIBRARY_FILES[platform];
  if (file === undefined) {
    throw new OnnxRuntimeUnavailableError(
      "unsupported_platform",
      `onnxruntime-node carries no library for ${platform}; expected one of ${
        Object.keys(LIBRARY_FILES).join(", ")
      }. Name a library of your own instead.`,
    );
  }
  let entry: string;
  try {
    entry = import.meta.resolve("onnxruntime-node");
  } catch (cause) {
    throw new OnnxRuntimeUnavailableError(
      "not_installed",
      "The npm package onnxruntime-node is not installed. Run `deno install` in the project.",
      { cause },
    );
  }
  return decodeURIComponent(new URL(`../bin/napi-v6/${file}`, entry).pathname);
}

function openLibrary(path: string) {
  try {
    return Deno.dlopen(path, { OrtGetApiBase: { parameters: [], result: "pointer" } });
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) throw notPermitted(path, cause);
    throw new OnnxRuntimeUnavailableError(
      "not_installed",
      `ONNX Runtime could not be opened from ${path}: ${
        cause instanceof Error ? cause.message : cause
      }`,
      { cause },
    );
  }
}

/** Binds every row of `rows` to the function pointer in its slot of the table at `address`. */
function bindTable<Table extends Record<string, Deno.ForeignFunction & { index: number }>>(
  address: Deno.PointerValue,
  rows: Table,
): BoundTable<Table> {
  if (address === null) throw new TypeError("The function table is null");
  const slots = new Deno.UnsafePointerView(address);
  const bound: Partial<{ [Name in keyof Table]: Deno.UnsafeFnPointer<Table[Name]> }> = {};
  for (const name in rows) {
    const row = rows[name];
    const pointer = Deno.UnsafePointer.create<Table[typeof name]>(
      slots.getBigUint64(row.index * POINTER_BYTES),
    );
    if (pointer === null) throw new TypeError(`The function table has no ${name}`);
    bound[name] = new Deno.UnsafeFnPointer(pointer, row);
  }
  return bound as BoundTable<Table>;
}
