/**
 * The seam between the engine and whatever runs models. It is message-shaped: numbers and host
 * bytes cross it, no native handle does, so that a device may live in another process.
 *
 * @module
 */
import type { Model } from "./model.ts";
import type { Tensor, TensorShape } from "./tensor.ts";

/** The exact shapes of one iteration's inputs, in the model's order. */
export interface Signature {
  /** Unique among the signatures of one model, e.g. `8x3x48x320`. */
  readonly key: string;
  /** In the model's order; an optional input that was left out is missing. */
  readonly inputs: readonly TensorShape[];
  /**
   * Sequences whose carried inputs the device adds, one row each; absent for plain requests. The key
   * tells such a signature from one of plain requests that leave the same inputs out.
   */
  readonly sequences?: number;
}

/**
 * What one sequence keeps on the device between its iterations. Disposing of it frees the memory;
 * neither that nor reading while an iteration with it is in flight.
 */
export interface SequenceState extends Disposable {
  /** A copy of the values that its next iteration will see, by the names of the carried inputs. */
  read(): Tensor[];
}

/** One step of one batch. */
export interface Step {
  /** Exact shapes of the joined inputs, the batch's rows included. */
  readonly signature: Signature;
  /** Rows in the batch; 1 where the model has no batch dimension. */
  readonly rows: number;
  /**
   * For every input of the signature the pieces that make it up, in row order. The device joins
   * them in its own host buffer: the one copy a payload undergoes. Pieces stay untouched until the
   * iteration is done.
   */
  readonly inputs: readonly (readonly Uint8Array<ArrayBuffer>[])[];
  /**
   * One for each row, where rows belong to sequences; all of this executable. The iteration takes
   * its carried inputs from them and leaves its carried outputs there. One that fails leaves the
   * states as they were. A batch of the same sequences in the same order as before copies no state.
   */
  readonly states?: readonly SequenceState[];
}

/** What an iteration gave. */
export interface IterationResult {
  /** Time the iteration took on the device, microseconds. */
  readonly deviceMicros: number;
  /**
   * Outputs of the whole batch in the model's order, with the shapes the values really have. Their
   * data are views of host buffers and valid until {@linkcode release}. Empty after an error.
   * Those that sequences carry over stay on the device and are left out.
   */
  readonly outputs: readonly Tensor[];
  /** `execution_failed` when the model refused this input, `device_failed` when the device is at fault. */
  readonly error?: Error;
  /** Gives the buffers back. Called exactly once. */
  release(): void;
}

/** Something on the device broke, outside any one iteration or beyond repair. */
export interface DeviceFault {
  /** What broke, in a sentence for the operator. */
  readonly message: string;
  /** Nothing on this device will work again. */
  readonly fatal: boolean;
}

/** One named holding of device memory. */
export interface MemoryUse {
  /** The model's name; absent where the bytes serve more than one. */
  readonly model?: string;
  /**
   * `persistent` weights, `ephemeral` working memory of iterations, `state` kept between the
   * iterations of a request, `host` buffers, `overhead` of the runtime itself.
   */
  readonly class: "persistent" | "ephemeral" | "state" | "host" | "overhead";
  /** Bytes held now. */
  readonly bytes: number;
}

/** A machine that runs models: `cpu`, `simulated`, later `cuda`. */
export interface Device extends AsyncDisposable {
  /** As `--device` and the server's metadata name it. */
  readonly name: string;
  /** Capacity in bytes, for weights, lanes and state together. */
  readonly memoryBytes: number;
  /**
   * Reads, compiles and measures a model, off the event loop.
   *
   * @throws {SluiceError} `invalid_argument` when the file is no model this device can run.
   */
  stage(model: Model, signal?: AbortSignal): Promise<StagedModel>;
  /** A lane of so many bytes of working memory. */
  openLane(bytes: number): Lane;
  /** What the device holds right now, every byte named. */
  memory(): readonly MemoryUse[];
  /** Gives memory that no loaded model needs back to the system. Called after an unload. */
  trim(): Promise<void>;
  /** Calls `listener` with every fault from now on, beside those that listen already. */
  onFault(listener: (fault: DeviceFault) => void): void;
}

/** A model in host memory, measured, ready to be made resident. */
export interface StagedModel extends AsyncDisposable {
  /** Weights and whatever else stays while the model is loaded. */
  readonly persistentBytes: number;
  /** Working memory of one iteration of exactly these shapes; an upper bound where not measured. */
  ephemeralBytes(signature: Signature): number;
  /**
   * Most that the state of one sequence takes at any time, whatever it is joined with; 0 for a model
   * without a sequence rule.
   */
  readonly stateBytes: number;
  /** Makes it resident. */
  upload(): Promise<Executable>;
}

/** Working memory plus one stream: one iteration executes at a time. */
export interface Lane extends Disposable {
  /** Unique on its device. */
  readonly id: number;
  /** Working memory, as last given; the engine keeps the sum over lanes within the capacity. */
  readonly bytes: number;
  /** Iterations that may be in flight at once; those behind the first wait on the device. */
  readonly depth: number;
  /** Changes the working memory. Only when idle. */
  resize(bytes: number): void;
}

/** A resident model. */
export interface Executable extends AsyncDisposable {
  /** Builds what iterations of this signature need on this lane. Optional: `start` does it when missing. */
  prepare(signature: Signature, lane: Lane): Promise<void>;
  /**
   * Takes memory for a new sequence: `stateBytes` of the staged model, which the engine has seen to.
   *
   * @param initial Values that carried inputs start from, by name. The others start from the file's
   *   initialiser of that name, or from zeros where it has none.
   * @throws {SluiceError} `invalid_argument` for a tensor that is not carried or of another datatype
   *   or shape; `out_of_memory`; `internal` for a model without a sequence rule.
   */
  openSequence(initial?: readonly Tensor[]): SequenceState;
  /**
   * Starts one iteration. `done` is called exactly once: before `start` returns when the device
   * chose to run it in place, otherwise later from the event loop. Never throws.
   *
   * @param expectedMicros The engine's learned estimate; lets a device run very short ones in place.
   */
  start(
    lane: Lane,
    step: Step,
    expectedMicros: number,
    done: (result: IterationResult) => void,
  ): void;
}
