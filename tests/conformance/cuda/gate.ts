/**
 * A kernel that runs until the host lets it go on, so that a test decides what is in flight.
 *
 * @module
 */
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import type { Context } from "../../../ffi/cuda/context.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { type CudaModule, loadModule } from "../../../ffi/cuda/module.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import type { Stream } from "../../../ffi/cuda/stream.ts";

/** `gate(flag)`: reads a word of host memory until it is no longer zero. */
export const GATE = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry gate(.param .u64 flag)
{
  .reg .pred %closed;
  .reg .b32 %word;
  .reg .b64 %at;
  ld.param.u64 %at, [flag];
again:
  ld.volatile.global.u32 %word, [%at];
  setp.eq.u32 %closed, %word, 0;
  @%closed bra again;
  ret;
}
`;

/** Holds a stream up from {@linkcode close} to {@linkcode open}. */
export class Gate implements Disposable {
  readonly #flag: PinnedMemory;
  readonly #module: CudaModule;
  readonly #launch: KernelLaunch;
  #stream: Stream | undefined;

  /** A gate that is open. */
  constructor(context: Context) {
    this.#module = loadModule(context, GATE, "gate");
    this.#flag = new PinnedMemory(context, 4);
    const args = new KernelArguments(["pointer"]);
    args.set(0, this.#flag.live("cuLaunchKernel"));
    this.#launch = new KernelLaunch(
      this.#module.function("gate"),
      { grid: [1], block: [1] },
      args,
    );
  }

  /** What is enqueued on the stream from now on waits. */
  close(stream: Stream): void {
    new Uint32Array(this.#flag.buffer)[0] = 0;
    this.#launch.enqueue(stream);
    this.#stream = stream;
  }

  /** Lets the stream go on. */
  open(): void {
    new Uint32Array(this.#flag.buffer)[0] = 1;
  }

  /** Opens it and waits until nobody reads the word any more. */
  [Symbol.dispose](): void {
    this.open();
    if (this.#stream?.disposed === false) this.#stream.synchronize();
    this.#flag[Symbol.dispose]();
    this.#module[Symbol.dispose]();
  }
}
