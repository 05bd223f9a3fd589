/**
 * The device's kernels, loaded once for all models.
 *
 * @module
 */
import { KernelArguments } from "../../ffi/cuda/arguments.ts";
import type { Context } from "../../ffi/cuda/context.ts";
import type { CudaFunction } from "../../ffi/cuda/function.ts";
import { KernelLaunch } from "../../ffi/cuda/launch.ts";
import type { CudaModule } from "../../ffi/cuda/module.ts";
import { ModuleLoader } from "../../ffi/cuda/module_loader.ts";
import { type Kernel, type KernelName, KERNELS } from "./kernels.ts";
import type { Address, Launch } from "./plan.ts";

/** Modules of PTX, which the driver compiles for whatever device it has. */
export class KernelLibrary implements Disposable {
  readonly #modules: ReadonlyMap<string, CudaModule>;
  readonly #functions = new Map<KernelName, CudaFunction>();

  private constructor(modules: ReadonlyMap<string, CudaModule>) {
    this.#modules = modules;
  }

  /**
   * Loads all modules.
   *
   * @throws {CudaError}
   */
  static async load(context: Context): Promise<KernelLibrary> {
    await using loader = new ModuleLoader(context);
    const library = new Map<string, CudaModule>();
    try {
      for (const file of new Set(Object.values(KERNELS).map(({ file }) => file))) {
        const text = await Deno.readTextFile(new URL(`./kernels/${file}.ptx`, import.meta.url));
        library.set(file, await loader.load(text, file));
      }
    } catch (error) {
      for (const module of library.values()) module[Symbol.dispose]();
      throw error;
    }
    return new KernelLibrary(library);
  }

  /**
   * A launch with its addresses.
   *
   * @param bases Where weights and working memory lie.
   * @throws {CudaError}
   */
  launch(launch: Launch, bases: Readonly<Record<Address["base"], bigint>>): KernelLaunch {
    const { block, parameters }: Kernel = KERNELS[launch.kernel];
    const values = launch.arguments.map((argument) =>
      typeof argument === "object" && "base" in argument
        ? bases[argument.base] + BigInt(argument.offset)
        : argument
    );
    return new KernelLaunch(
      this.#function(launch.kernel),
      { grid: launch.grid, block: [block] },
      new KernelArguments(parameters).setAll(...values),
    );
  }

  /** Unloads them. */
  [Symbol.dispose](): void {
    for (const module of this.#modules.values()) module[Symbol.dispose]();
  }

  #function(name: KernelName): CudaFunction {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const found = this.#modules.get(KERNELS[name].file)!.function(name);
    this.#functions.set(name, found);
    return found;
  }
}
