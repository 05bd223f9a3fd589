/**
 * Large bodies, parsed, written, compressed and decompressed off the event loop: a small fixed set
 * of Workers, started when first needed. Buffers are transferred, not copied.
 *
 * @module
 */
import { type ErrorCode, SluiceError } from "../../../models/errors.ts";
import type { ModelOverride } from "../../../models/model.ts";
import { compress, type ContentCoding, decompress, isContentCoding } from "../compression.ts";
import type { DecodedRequest, KnownInputs } from "./request.ts";
import type { EncodedOutput, ResponseBody } from "./response.ts";

/** Bytes that may be transferred. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** What a Worker is asked. */
export type CodecJob =
  | {
    readonly kind: "decode";
    readonly body: Bytes;
    readonly jsonBytes: number;
    readonly known: KnownInputs;
  }
  | { readonly kind: "load"; readonly body: Bytes }
  | { readonly kind: "encode"; readonly head: string; readonly outputs: readonly EncodedOutput[] }
  | { readonly kind: "compress"; readonly coding: ContentCoding; readonly body: Bytes }
  | {
    readonly kind: "decompress";
    readonly coding: ContentCoding;
    readonly body: Bytes;
    readonly maxBytes: number;
  };

/** What it answers. */
export type CodecAnswer =
  | { readonly kind: "decoded"; readonly request: DecodedRequest }
  | { readonly kind: "override"; readonly override: ModelOverride | undefined }
  | { readonly kind: "encoded"; readonly response: ResponseBody }
  | { readonly kind: "bytes"; readonly bytes: Bytes }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

/** Up to so many bytes compressing in place is cheaper than a thread hop. */
const COMPRESSED_IN_PLACE_BYTES = 16 * 1024;
/** So many bytes unfold to at most a thousand times as many, in some milliseconds. */
const DECOMPRESSED_IN_PLACE_BYTES = 4096;

interface Pending {
  readonly job: CodecJob;
  readonly transfer: ArrayBuffer[];
  readonly settle: (answer: CodecAnswer) => void;
}

/** The Workers. One that dies fails its job and is replaced by the next. */
export class CodecPool implements Disposable {
  readonly #size: number;
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Pending>();
  readonly #waiting: Pending[] = [];
  /** Come last: what has been unfolded is parsed before more is, or a bomb each would fill memory. */
  readonly #folded: Pending[] = [];

  /**
   * Makes a pool without Workers yet.
   *
   * @param size How many Workers at most.
   */
  constructor(size: number) {
    this.#size = size;
  }

  /** `decodeRequest` elsewhere. Takes the body away from the caller. */
  async decode(body: Bytes, jsonBytes: number, known: KnownInputs): Promise<DecodedRequest> {
    const own = owned(body);
    const answer = await this.#ask({ kind: "decode", body: own, jsonBytes, known }, [own.buffer]);
    if (answer.kind === "decoded") return answer.request;
    throw unexpected(answer);
  }

  /** `decodeLoadRequest` elsewhere. Takes the body away from the caller. */
  async decodeLoad(body: Bytes): Promise<ModelOverride | undefined> {
    const own = owned(body);
    const answer = await this.#ask({ kind: "load", body: own }, [own.buffer]);
    if (answer.kind === "override") return answer.override;
    throw unexpected(answer);
  }

  /** `encodeResponse` elsewhere. Copies the outputs before it returns. */
  async encode(head: string, outputs: readonly EncodedOutput[]): Promise<ResponseBody> {
    const transfer: ArrayBuffer[] = [];
    const copies = outputs.map((output) => {
      const data = output.tensor.data.slice();
      transfer.push(data.buffer);
      return { ...output, tensor: { ...output.tensor, data } };
    });
    const answer = await this.#ask({ kind: "encode", head, outputs: copies }, transfer);
    if (answer.kind === "encoded") return answer.response;
    throw unexpected(answer);
  }

  /** `compress` elsewhere, unless it is little work. Takes the body away from the caller. */
  async compress(coding: ContentCoding, body: Bytes): Promise<Bytes> {
    if (body.byteLength <= COMPRESSED_IN_PLACE_BYTES) return compress(coding, body);
    const own = owned(body);
    return bytesIn(await this.#ask({ kind: "compress", coding, body: own }, [own.buffer]));
  }

  /** `decompress` elsewhere, unless it is little work. Takes the body away from the caller. */
  async decompress(coding: string, body: Bytes, maxBytes: number): Promise<Bytes> {
    if (!isContentCoding(coding) || body.byteLength <= DECOMPRESSED_IN_PLACE_BYTES) {
      return decompress(coding, body, maxBytes);
    }
    const own = owned(body);
    const job = { kind: "decompress", coding, body: own, maxBytes } as const;
    return bytesIn(await this.#ask(job, [own.buffer], this.#folded));
  }

  /** Ends the Workers; what they had not answered fails with `shutting_down`. */
  [Symbol.dispose](): void {
    const workers = [...this.#idle, ...this.#busy.keys()];
    this.#idle.length = 0;
    const waiting = [...this.#waiting.splice(0), ...this.#folded.splice(0)];
    for (const pending of [...waiting, ...this.#busy.values()]) {
      pending.settle({ kind: "failed", code: "shutting_down", message: "The server is stopping" });
    }
    this.#busy.clear();
    for (const worker of workers) worker.terminate();
  }

  #ask(
    job: CodecJob,
    transfer: ArrayBuffer[],
    line: Pending[] = this.#waiting,
  ): Promise<CodecAnswer> {
    return new Promise((settle) => {
      line.push({ job, transfer, settle });
      this.#assign();
    });
  }

  #assign(): void {
    while (this.#waiting.length + this.#folded.length > 0) {
      const worker = this.#idle.pop() ?? (this.#busy.size < this.#size ? this.#start() : undefined);
      if (worker === undefined) return;
      const pending = this.#waiting.shift() ?? this.#folded.shift()!;
      this.#busy.set(worker, pending);
      worker.postMessage(pending.job, pending.transfer);
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL("./codec_worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<CodecAnswer>) => this.#finish(worker, data, true);
    worker.onerror = (event) => {
      event.preventDefault(); // else it ends this process, too
      this.#finish(worker, { kind: "failed", code: "internal", message: event.message }, false);
    };
    return worker;
  }

  #finish(worker: Worker, answer: CodecAnswer, alive: boolean): void {
    const pending = this.#busy.get(worker);
    this.#busy.delete(worker);
    if (alive) this.#idle.push(worker);
    else worker.terminate();
    pending?.settle(answer);
    this.#assign();
  }
}

/** A body that may be transferred: a buffer that holds more may be somebody else's, too. */
function owned(body: Bytes): Bytes {
  return body.byteLength === body.buffer.byteLength ? body : body.slice();
}

function bytesIn(answer: CodecAnswer): Bytes {
  if (answer.kind === "bytes") return answer.bytes;
  throw unexpected(answer);
}

function unexpected(answer: CodecAnswer): SluiceError {
  return answer.kind === "failed"
    ? new SluiceError(answer.code, answer.message)
    : new SluiceError("internal", `A codec Worker answered '${answer.kind}'`);
}
