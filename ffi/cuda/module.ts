/**
 * Modules: kernels and global variables, loaded onto a device.
 *
 * @module
 */
import type { Context } from "./context.ts";
import type { CudaDriver } from "./driver.ts";
import { CODE, type CudaError } from "./errors.ts";
import { CudaFunction } from "./function.ts";
import { type LoadedImage, loadImage } from "./jit.ts";
import { moduleImage } from "./module_image.ts";
import { Owned } from "./owned.ts";

/** A global variable of a module. It lives as long as the module. */
export interface ModuleGlobal {
  /** Its device address. */
  readonly address: bigint;
  /** Its size. */
  readonly bytes: number;
}

/** A loaded module. Whoever launches its kernels keeps it until they have ended. */
export class CudaModule extends Owned {
  /** Where it is loaded. */
  readonly context: Context;
  /** What the driver's compiler did, e.g. the registers that it used; empty for machine code. */
  readonly infoLog: string;

  /**
   * Takes over what a load gave. Use {@linkcode loadModule}, or a `ModuleLoader` for what takes
   * long.
   *
   * @param name Names it in errors.
   * @throws {CudaError} When the load failed: with what the compiler objects to.
   */
  constructor(context: Context, name: string, loaded: LoadedImage) {
    if (loaded.status !== CODE.success) throw loadFailed(context.driver, name, loaded);
    super(context, `module ${name}`, loaded.handle);
    this.context = context;
    this.infoLog = loaded.infoLog;
  }

  /**
   * A kernel.
   *
   * @param name As the module has it: mangled unless declared `extern "C"`.
   * @throws {CudaError} When there is none; its hint lists those that there are.
   */
  function(name: string): CudaFunction {
    const driver = this.context.enter();
    const { out, symbols } = driver;
    const handle = this.live("cuModuleGetFunction");
    const status = symbols.cuModuleGetFunction(out.bytes, handle, cString(name));
    if (status === CODE.notFound) {
      throw notFound(driver, "cuModuleGetFunction", `${this.label} has no kernel ${name}`, [
        ...this.#functionNames(driver, handle),
      ]);
    }
    driver.check("cuModuleGetFunction", status);
    return new CudaFunction(this, name, out.u64);
  }

  /**
   * A global variable, `__device__` or `__constant__`.
   *
   * @throws {CudaError} When there is none.
   */
  global(name: string): ModuleGlobal {
    const driver = this.context.enter();
    const { out, secondOut, symbols } = driver;
    const handle = this.live("cuModuleGetGlobal_v2");
    const status = symbols.cuModuleGetGlobal_v2(out.bytes, secondOut.bytes, handle, cString(name));
    if (status === CODE.notFound) {
      throw notFound(driver, "cuModuleGetGlobal_v2", `${this.label} has no variable ${name}`);
    }
    driver.check("cuModuleGetGlobal_v2", status);
    return { address: out.u64, bytes: secondOut.size };
  }

  /** Names of all kernels, as far as the driver tells. */
  *#functionNames({ symbols, out }: CudaDriver, handle: bigint): Iterable<string> {
    const { cuModuleGetFunctionCount, cuModuleEnumerateFunctions, cuFuncGetName } = symbols;
    if (!cuModuleGetFunctionCount || !cuModuleEnumerateFunctions || !cuFuncGetName) return;
    if (cuModuleGetFunctionCount(out.bytes, handle) !== CODE.success) return;
    const functions = new BigUint64Array(out.i32);
    const bytes = new Uint8Array(functions.buffer);
    if (cuModuleEnumerateFunctions(bytes, functions.length, handle) !== CODE.success) return;
    for (const each of functions) {
      if (cuFuncGetName(out.bytes, each) !== CODE.success) return;
      yield Deno.UnsafePointerView.getCString(Deno.UnsafePointer.create(out.u64)!);
    }
  }

  /** Unloads it. */
  protected override release(handle: bigint): void {
    const driver = this.context.makeCurrent();
    driver.check("cuModuleUnload", driver.symbols.cuModuleUnload(handle));
  }
}

/**
 * Loads a module in place: the event loop stands still while the driver compiles.
 *
 * @param source PTX as text or bytes, a cubin or a fatbin.
 * @param name Names it in errors.
 * @throws {CudaError}
 */
export function loadModule(
  context: Context,
  source: string | Uint8Array<ArrayBuffer>,
  name: string,
): CudaModule {
  const image = moduleImage(source);
  return new CudaModule(context, name, loadImage(context.enter().symbols, image));
}

function loadFailed(driver: CudaDriver, name: string, loaded: LoadedImage): CudaError {
  const { status, errorLog } = loaded;
  const text = errorLog === "" ? undefined : `module ${name}: ${errorLog}`;
  return driver.failure("cuModuleLoadDataEx", status, { text });
}

function notFound(
  driver: CudaDriver,
  call: "cuModuleGetFunction" | "cuModuleGetGlobal_v2",
  text: string,
  there: readonly string[] = [],
): CudaError {
  return driver.failure(call, CODE.notFound, {
    text: `the ${text}`,
    hint: there.length === 0 ? undefined : `It has ${there.join(", ")}.`,
  });
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
