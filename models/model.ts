/**
 * A model as the repository describes it: files and settings, nothing loaded yet.
 *
 * @module
 */
import type { Datatype, Tensor, TensorSpec } from "./tensor.ts";

/** Inputs and outputs that a model declares, in its own order. */
export interface ModelSignature {
  /** Names are unique. Indices into this list identify inputs elsewhere. */
  readonly inputs: readonly TensorSpec[];
  /** Outputs that are tensors. */
  readonly outputs: readonly TensorSpec[];
  /** Outputs that are no tensors (sequences, maps): named in the metadata, not served. */
  readonly notServed: readonly string[];
}

/** Whether and how requests of a model may share an iteration. */
export interface BatchingRule {
  /** Largest number of rows in one iteration; 1 when requests cannot be joined. */
  readonly maxRows: number;
  /** Whether the server may join requests. A client may still send several rows itself. */
  readonly join: boolean;
  /** Why, or why not, in a sentence for `models` and `register`. */
  readonly reason: string;
  /** For every input: whether axis 0 is the batch. One without it must be equal to be joined. */
  readonly batchedInputs: readonly boolean[];
  /** How long a request may wait for others, microseconds (Triton's max_queue_delay). 0: never. */
  readonly maxDelayMicros: number;
  /** Not yet known: the device shall probe it at first load (see `models/probe.ts`). */
  readonly probe: boolean;
}

/** An output whose value is an input of the same sequence's next iteration. */
export interface CarriedTensor {
  /** Name of the input that takes the value. */
  readonly input: string;
  /** Name of the output that gives it. */
  readonly output: string;
  /** Of both. */
  readonly datatype: Datatype;
  /** Of both, for one sequence: the batch axis has the size 1. */
  readonly shape: readonly number[];
  /** The axis along which sequences are joined: the free one; -1 when all are fixed. */
  readonly batchAxis: number;
}

/** How text becomes inputs, and outputs become text: one token is one byte. */
export interface GenerationRule {
  /** INT64 input `[rows, tokens]`: what follows the tokens that the cache holds already. */
  readonly tokens: string;
  /** INT64 input `[rows]`: how many tokens of each row the cache holds. */
  readonly position: string;
  /** FP32 output `[rows, vocabulary]`: a score for every token that could come next. */
  readonly logits: string;
  /** Tokens that the cache holds: of the prompt and of the answer together. */
  readonly maxTokens: number;
  /** The token that ends a text, and the one that begins it. 0 to 255 are bytes. */
  readonly endToken: number;
}

/** How a model runs in sequences: requests that live across iterations, with state on the device. */
export interface SequenceRule {
  /** At least one. */
  readonly carry: readonly CarriedTensor[];
  /**
   * Whether sequences may share an iteration. `batchedInputs` is about the inputs that are not
   * carried; `probe` asks for one with sequences, whatever is known of plain requests.
   */
  readonly batching: BatchingRule;
  /** A sequence that waits longer than this for its client is ended, microseconds. */
  readonly maxIdleMicros: number;
  /** Every request must be part of a sequence (Triton's `sequence_batching`). */
  readonly required: boolean;
  /** Present for a model that generates text. */
  readonly generation?: GenerationRule;
  /**
   * The model whose next version each checkpoint of a job becomes: its newest file, with the
   * initialisers replaced that have a carried input's name.
   */
  readonly checkpoint: string;
}

/** One version of one model. */
export interface Model {
  /** Its folder in the repository. */
  readonly name: string;
  /** A positive integer; the highest answers requests that name none. */
  readonly version: number;
  /** The ONNX file. `bytes` where it was uploaded; otherwise it is read from `path`. */
  readonly file: { readonly path?: string; readonly bytes?: Uint8Array<ArrayBuffer> };
  /** Size of the file in bytes, external data included. */
  readonly fileBytes: number;
  /** What changes when the content does; a reload of the same fingerprint does nothing. */
  readonly fingerprint: string;
  /** The file's own signature: exact shapes as the device sees them. */
  readonly signature: ModelSignature;
  /**
   * Triton's `max_batch_size`: 0 when the model's shapes carry no implied batch dimension. When
   * above 0 every input and output leads with the batch, and metadata shows -1 there.
   */
  readonly maxBatchSize: number;
  /** How its requests may share iterations; a probe at load settles what is open. */
  readonly batching: BatchingRule;
  /** Present where outputs carry over to inputs: such a model also runs in sequences. */
  readonly sequence?: SequenceRule;
  /** Triton's model configuration as `/v2/models/{m}/config` answers it. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Labels for the classification extension, by output name. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Sample inputs: each entry is one complete request. Used for trial runs and measurements. */
  readonly samples: readonly (readonly Tensor[])[];
  /** Default priority of its requests: 1 is most urgent, 0 none given. */
  readonly priority: number;
  /** Share of device time under fair policies. */
  readonly weight: number;
  /** Never evicted to make room. */
  readonly pin: boolean;
}

/** A replacement that a load request carries (Triton's `config` and `file:` parameters). */
export interface ModelOverride {
  /** Triton's model configuration as JSON text. */
  readonly config?: string;
  /** Paths like `1/model.onnx` with their content; they replace the repository's versions. */
  readonly files?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** Where models come from. Implementations read files; they never load anything on a device. */
export interface Repository {
  /** Names of the models that are there, sorted. */
  list(): Promise<string[]>;
  /**
   * All versions of a model that its version policy names, ascending.
   *
   * @throws {SluiceError} `not_found`, or `invalid_argument` with the file and the fault in it.
   */
  read(name: string, override?: ModelOverride): Promise<Model[]>;
}

/** How a version came out of a job. */
export interface JobOrigin {
  /** The job's. */
  readonly id: string;
  /** Iterations that it had done. */
  readonly iterations: number;
}

/** A version's file, as it lies in the repository. */
export interface StoredVersion {
  /** Its number. */
  readonly version: number;
  /** The whole ONNX file. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Present where a job wrote it. */
  readonly job?: JobOrigin;
}

/** Where jobs keep their checkpoints: as versions of a model, servable like any other. */
export interface CheckpointStore {
  /**
   * Checks that versions can be added.
   *
   * @throws {SluiceError} `forbidden` when the repository is read-only here.
   */
  checkWritable(): Promise<void>;
  /**
   * Adds the next version of a model and takes older ones of the same job away; all or nothing.
   *
   * @param keep How many of the job's versions stay, this one included.
   * @returns Its number.
   * @throws {SluiceError} `invalid_argument` when the file is no model, `too_large` when the disk is
   *   full, `conflict` or `forbidden` when the repository cannot be written to.
   */
  add(
    model: string,
    bytes: Uint8Array<ArrayBuffer>,
    job: JobOrigin,
    keep: number,
  ): Promise<number>;
  /**
   * Reads a version, the newest when none is named.
   *
   * @throws {SluiceError} `not_found` where there is none; `invalid_argument` when it cannot be read.
   */
  read(model: string, version?: number): Promise<StoredVersion>;
}
