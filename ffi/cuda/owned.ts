/**
 * Objects that own something of the driver's, and the rules of their lives.
 *
 * @module
 */
import { CODE, CudaError } from "./errors.ts";

/** Work in flight that reads or writes what an object owns. */
export interface Use {
  /** Names it in an error. */
  readonly label: string;
  /** Whether it may begin anew at any time, as a graph does: it is a use even while nothing runs. */
  readonly recurs?: boolean;
  /** Lets go of whatever has finished. */
  refresh(): void;
}

/** Told about an object that was collected without having been disposed. */
export type LeakListener = (label: string) => void;

/** What remains of an object once it is collected: enough to name it. */
interface Lifetime {
  readonly label: string;
  readonly children: Set<Lifetime>;
  readonly leakListeners: Set<LeakListener>;
  leaked: boolean;
}

/**
 * Reports, and never frees: when it runs, what was owned may be in use by the device, and its
 * thread may have another context.
 */
const collected = new FinalizationRegistry<Lifetime>((lifetime) => {
  lifetime.leaked = true;
  for (const listener of lifetime.leakListeners) listener(lifetime.label);
});

/**
 * Owns a handle or an address of the driver's until it is disposed.
 *
 * - Disposing twice is once. Using it afterwards is an error.
 * - It keeps its parent alive. Disposing the parent first is an error that names the children.
 * - Disposing what work in flight uses is an error that names the work.
 * - When the driver fails to release it, the next call on the same driver throws that error: a
 *   `using` declaration has no good place for it, and it must not be lost.
 * - One that is collected without having been disposed is reported, not freed.
 */
export abstract class Owned implements Disposable {
  /** What it is, in the words of an error. */
  readonly label: string;
  readonly #parent: Owned | undefined;
  readonly #handle: bigint;
  readonly #lifetime: Lifetime;
  readonly #uses = new Map<Use, number>();
  #disposed = false;

  /**
   * Takes over a handle that the driver has just given.
   *
   * @param parent What has to outlive it.
   */
  constructor(parent: Owned | undefined, label: string, handle: bigint) {
    this.label = label;
    this.#parent = parent;
    this.#handle = handle;
    this.#lifetime = {
      label,
      children: new Set(),
      leakListeners: parent === undefined ? new Set() : parent.#lifetime.leakListeners,
      leaked: false,
    };
    if (parent !== undefined) parent.#lifetime.children.add(this.#lifetime);
    collected.register(this, this.#lifetime, this);
  }

  /** Whether it has been disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * The handle, to be used in a call.
   *
   * @param call The function that will be given it.
   * @throws {CudaError} When this has been disposed.
   */
  live(call: string): bigint {
    if (this.#disposed) {
      throw new CudaError(call, CODE.invalidHandle, `the ${this.label} has been disposed`, {
        hint: "Keep it until the last call that uses it.",
      });
    }
    return this.#handle;
  }

  /** Counts a use by work in flight; {@linkcode endUse} takes it back. */
  beginUse(use: Use): void {
    this.#uses.set(use, (this.#uses.get(use) ?? 0) + 1);
  }

  /** Takes back one use. */
  endUse(use: Use): void {
    const count = this.#uses.get(use) ?? 0;
    if (count > 1) this.#uses.set(use, count - 1);
    else this.#uses.delete(use);
  }

  /**
   * Makes sure that no work in flight uses it, as far as copies and graphs tell; kernels are given
   * addresses, of which nothing is known here.
   *
   * @param call The function that needs it idle.
   * @param counts Which uses count; all by default.
   * @throws {CudaError} When some does.
   */
  idle(call: string, counts: (use: Use) => boolean = () => true): void {
    for (const use of [...this.#uses.keys()]) use.refresh();
    const users = Array.from(this.#uses.keys()).filter(counts).map((use) => use.label);
    if (users.length === 0) return;
    throw new CudaError(call, CODE.illegalState, `the ${this.label} is in use by ${list(users)}`, {
      hint: "Wait for the work that uses it.",
    });
  }

  /** Releases what is owned. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    const { children } = this.#lifetime;
    if (children.size > 0) {
      const names = Array.from(
        children,
        (child) => child.leaked ? `${child.label} (lost)` : child.label,
      );
      throw new CudaError(
        "dispose",
        CODE.illegalState,
        `the ${this.label} is still needed by ${list(names)}`,
        { hint: "Dispose those first." },
      );
    }
    this.idle("dispose");
    this.#disposed = true;
    collected.unregister(this);
    if (this.#parent !== undefined) this.#parent.#lifetime.children.delete(this.#lifetime);
    try {
      this.release(this.#handle);
    } catch (error) {
      this.releaseFailed(error);
    }
  }

  /** Has a listener told about leaks of this and of all that have it as an ancestor. */
  onLeak(listener: LeakListener): () => void {
    const { leakListeners } = this.#lifetime;
    leakListeners.add(listener);
    return () => leakListeners.delete(listener);
  }

  /** Gives the handle back to the driver. */
  protected abstract release(handle: bigint): void;

  /** Where an error of {@linkcode release} goes: to the root, which is the driver. */
  protected releaseFailed(error: unknown): void {
    this.#parent?.releaseFailed(error);
  }
}

const NAMED_AT_MOST = 5;

function list(names: readonly string[]): string {
  const more = names.length - NAMED_AT_MOST;
  const named = names.slice(0, NAMED_AT_MOST).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
