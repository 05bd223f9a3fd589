/**
 * Loads modules off the event loop: the driver's compiler takes a second for some tens of kilobytes
 * of PTX.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE, CudaError } from "./errors.ts";
import { type LoadedImage, loadImage } from "./jit.ts";
import { CudaModule } from "./module.ts";
import { type ModuleImage, moduleImage } from "./module_image.ts";
import type { Use } from "./owned.ts";
import type { SymbolName } from "./symbols.ts";

/** What the Worker is asked. */
export interface LoadJob {
  /** The driver's library, which is the same in the whole process. */
  readonly library: string;
  /** `CUcontext` to load into. */
  readonly context: bigint;
  /** What to load. */
  readonly image: ModuleImage;
}

/** What it answers, in the order in which it was asked. */
export interface LoadAnswer {
  /** The last function that it called. */
  readonly call: SymbolName;
  /** What that returned. */
  readonly loaded: LoadedImage;
}

/** Up to so many bytes a load takes a few milliseconds. A fatbin may consist of PTX. */
const IN_PLACE_BYTES = { ptx: 2048, fatbin: 2048, cubin: 2 ** 20 } as const;

interface Pending {
  resolve(answer: LoadAnswer): void;
  reject(reason: CudaError): void;
}

/**
 * Loads modules into a context, what takes long in a Worker: a context is current on a thread, and
 * a Worker keeps the one that it has. It is started when first needed.
 */
export class ModuleLoader implements AsyncDisposable {
  readonly #context: Context;
  readonly #pending: Pending[] = [];
  #worker: Worker | undefined;
  #idle = () => {};
  #disposed = false;

  /** A loader without a Worker yet. */
  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Loads a module. The context stays in use until it has come.
   *
   * @param source PTX as text or bytes, a cubin or a fatbin.
   * @param name Names it in errors.
   * @throws {CudaError}
   */
  async load(source: string | Uint8Array<ArrayBuffer>, name: string): Promise<CudaModule> {
    if (this.#disposed) throw failed("the loader has been disposed");
    const { symbols } = this.#context.enter();
    const image = moduleImage(source);
    if (image.bytes.length <= IN_PLACE_BYTES[image.kind]) {
      return new CudaModule(this.#context, name, loadImage(symbols, image));
    }
    const use: Use = { label: `the load of module ${name}`, refresh: () => {} };
    this.#context.beginUse(use);
    try {
      const { call, loaded } = await this.#ask(image);
      if (call !== "cuModuleLoadDataEx") this.#context.driver.check(call, loaded.status);
      return new CudaModule(this.#context, name, loaded);
    } finally {
      this.#context.endUse(use);
    }
  }

  /** Ends the Worker once it has answered: what it is loading could not be unloaded otherwise. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    if (this.#pending.length > 0) await new Promise<void>((resolve) => this.#idle = resolve);
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(image: ModuleImage): Promise<LoadAnswer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#worker ??= this.#start();
      const job: LoadJob = {
        library: this.#context.driver.path,
        context: this.#context.live("cuCtxSetCurrent"),
        image,
      };
      this.#worker.postMessage(job);
    });
  }

  #start(): Worker {
    const url = import.meta.resolve("./module_loader_worker.ts");
    const worker = new Worker(url, { type: "module", name: "CUDA module loader" });
    worker.onmessage = ({ data }: MessageEvent<LoadAnswer>) => {
      this.#pending.shift()!.resolve(data);
      if (this.#pending.length === 0) this.#idle();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#worker = undefined;
      const reason = failed(`the Worker that loads modules has died: ${event.message}`);
      for (const { reject } of this.#pending.splice(0)) reject(reason);
      this.#idle();
    };
    return worker;
  }
}

function failed(text: string): CudaError {
  return new CudaError("cuModuleLoadDataEx", CODE.illegalState, text);
}
