/**
 * `POST /v2/models/{model}[/versions/{version}]/infer`: the hot path. Two awaits: the body, and the
 * answer.
 *
 * @module
 */
import type {
  Engine,
  InferenceRequest,
  SequenceStep,
  ServedModel,
  Timing,
} from "../../engine/api.ts";
import { SluiceError, toSluiceError } from "../../../models/errors.ts";
import { elementCount, type Tensor } from "../../../models/tensor.ts";
import { acceptedCoding, type ContentCoding, contentCoding } from "../compression.ts";
import { brokenBody, freeBody, readBody } from "../body.ts";
import type { BodyBudget } from "../body_budget.ts";
import { formatTiming } from "../server_timing.ts";
import type { ErrorResponder } from "../status.ts";
import { classificationOf } from "./classification.ts";
import type { CodecPool } from "./codec_pool.ts";
import { chooseOutputs, type OutputChoice } from "./output_choice.ts";
import { decodeRaw } from "./raw_request.ts";
import { type DecodedRequest, decodeRequest, type KnownInputs } from "./request.ts";
import { type EncodedOutput, encodeResponse, type ResponseBody } from "./response.ts";

/** What the inference route needs. */
export interface InferOptions {
  /** Runs the requests. */
  readonly engine: Engine;
  /** Writes the refusals. */
  readonly errorResponse: ErrorResponder;
  /** Largest body, as sent and unfolded. */
  readonly maxBodyBytes: number;
  /** Room for the bodies of all requests. */
  readonly bodies: BodyBudget;
  /** JSON from this size on is parsed in a Worker. */
  readonly jsonOffLoopBytes: number;
  /** Where large JSON goes. */
  readonly codecs: CodecPool;
}

/** A model and perhaps a version, from a path. */
export interface Target {
  /** As the path has it. */
  readonly name: string;
  /** Digits without leading zeros; undefined asks for the newest. */
  readonly version: string | undefined;
}

/** JSON outputs of this many elements, all together, are written in a Worker. */
const JSON_OFF_LOOP_ELEMENTS = 50_000;
/** Elements of JSON that are written in the time in which one is put in order and written. */
const CLASSIFIED_ELEMENT = 10;

/** Answers one inference request. Never rejects. */
export async function infer(
  request: Request,
  target: Target,
  options: InferOptions,
): Promise<Response> {
  let body: Uint8Array<ArrayBuffer>;
  try {
    // Asked before the body is read, so that an unknown model costs nothing; and again after it,
    // because a model may have been reloaded while a slow body came in.
    options.engine.find(target.name, target.version);
    body = await readBody(request, options.maxBodyBytes, options.bodies);
  } catch (fault) {
    return options.errorResponse(brokenBody(request, fault));
  }
  const received = body.byteLength; // what was declared, else the HTTP parser has failed it
  try {
    const coding = contentCoding(request);
    if (coding !== undefined) {
      body = await options.codecs.decompress(coding, body, options.maxBodyBytes);
    }
    const declared = request.headers.get("inference-header-content-length");
    const jsonBytes = declared === null ? body.byteLength : jsonLength(declared, body.byteLength);

    const served = options.engine.find(target.name, target.version);
    const decoded = declared !== null && jsonBytes === 0
      ? decodeRaw(served.model, body)
      : jsonBytes < options.jsonOffLoopBytes
      ? decodeRequest(body, jsonBytes, textsOf(served).known)
      : await options.codecs.decode(body, jsonBytes, textsOf(served).known);
    const choice = chooseOutputs(served.model, decoded);
    if (declared === null) freeBody(body);
    return await new Promise((resolve) =>
      options.engine.submit(new Call(request, body, served, decoded, choice, options, resolve))
    );
  } catch (fault) {
    return options.errorResponse(toSluiceError(fault));
  } finally {
    options.bodies.giveBack(received);
  }
}

function jsonLength(declared: string, bodyBytes: number): number {
  const length = /^\d+$/.test(declared) ? Number(declared) : NaN;
  if (length <= bodyBytes) return length;
  throw new SluiceError(
    "invalid_argument",
    `Inference-Header-Content-Length is '${declared}', ` +
      `expected the number of bytes of JSON in a body of ${bodyBytes}`,
  );
}

/** A request on its way through the engine, and the promise of its response. */
class Call implements InferenceRequest {
  readonly id: string;
  readonly inputs: readonly Tensor[];
  readonly priority: number;
  readonly timeoutMicros: number;
  readonly tenant: string | undefined;
  readonly sequence: SequenceStep | undefined;
  readonly #http: Request;
  /** Holds binary inputs, which outputs may be views of. */
  readonly #body: Uint8Array<ArrayBuffer>;
  readonly #choice: OutputChoice;
  readonly #options: InferOptions;
  readonly #resolve: (response: Response | Promise<Response>) => void;

  constructor(
    http: Request,
    body: Uint8Array<ArrayBuffer>,
    readonly served: ServedModel,
    decoded: DecodedRequest,
    choice: OutputChoice,
    options: InferOptions,
    resolve: (response: Response | Promise<Response>) => void,
  ) {
    this.id = decoded.id;
    this.inputs = decoded.inputs;
    this.priority = decoded.priority;
    this.timeoutMicros = decoded.timeoutMicros;
    this.tenant = decoded.tenant;
    this.sequence = decoded.sequence;
    this.#http = http;
    this.#body = body;
    this.#choice = choice;
    this.#options = options;
    this.#resolve = resolve;
  }

  get signal(): AbortSignal {
    return this.#http.signal;
  }

  respond(outputs: readonly Tensor[], timing: Timing): void {
    try {
      const chosen = pick(this, this.#choice, outputs);
      const head = responseHead(this.served, this.id);
      const serverTiming = formatTiming(timing);
      const accepted = this.#http.headers.get("accept-encoding");
      const coding = accepted === null ? undefined : acceptedCoding(accepted);
      if (isLarge(chosen)) {
        this.#resolve(this.#respondLater(head, chosen, serverTiming, coding));
        return;
      }
      const encoded = encodeResponse(head, chosen);
      freeBody(this.#body);
      this.#resolve(
        coding === undefined
          ? inferenceResponse(encoded, serverTiming)
          : compressedResponse(encoded, serverTiming, coding, this.#options),
      );
    } catch (fault) {
      this.fail(toSluiceError(fault));
    }
  }

  fail(error: SluiceError): void {
    this.#resolve(this.#options.errorResponse(error));
  }

  async #respondLater(
    head: string,
    outputs: readonly EncodedOutput[],
    serverTiming: string,
    coding: ContentCoding | undefined,
  ): Promise<Response> {
    try {
      const encoded = await this.#options.codecs.encode(head, outputs);
      freeBody(this.#body);
      return coding === undefined
        ? inferenceResponse(encoded, serverTiming)
        : await compressedResponse(encoded, serverTiming, coding, this.#options);
    } catch (fault) {
      return this.#options.errorResponse(toSluiceError(fault));
    }
  }
}

function pick(
  { served, sequence }: InferenceRequest,
  choice: OutputChoice,
  outputs: readonly Tensor[],
): EncodedOutput[] {
  const { names, places } = textsOf(served);
  const chosen: EncodedOutput[] = [];
  for (let i = 0; i < outputs.length; i++) {
    const tensor = outputs[i];
    const at = sequence === undefined ? i : places[i];
    const quotedName = names[at];
    if (typeof choice === "boolean") {
      chosen.push({ quotedName, tensor, binary: choice });
      continue;
    }
    const wanted = choice[at];
    if (wanted === undefined) continue;
    const { binary, classes } = wanted;
    const classification = classes > 0 ? classificationOf(served.model, at, classes) : undefined;
    chosen.push({ quotedName, tensor, binary, classification });
  }
  return chosen;
}

function isLarge(outputs: readonly EncodedOutput[]): boolean {
  let elements = 0;
  for (const { tensor, binary, classification } of outputs) {
    if (classification !== undefined) elements += elementCount(tensor.shape) * CLASSIFIED_ELEMENT;
    else if (!binary) elements += elementCount(tensor.shape);
  }
  return elements >= JSON_OFF_LOOP_ELEMENTS;
}

/** What is the same in all requests and responses of a model version. */
interface ModelTexts {
  /** What a request may name. */
  readonly known: KnownInputs;
  /** What stands before the outputs where there is no id. */
  readonly head: string;
  /** The outputs' names as JSON. */
  readonly names: readonly string[];
  /** Places of the outputs that a sequence's requests get: the others carry over to the next. */
  readonly places: readonly number[];
}

const texts = new WeakMap<ServedModel, ModelTexts>();

function textsOf(served: ServedModel): ModelTexts {
  let known = texts.get(served);
  if (known === undefined) {
    const { name, version, signature, sequence } = served.model;
    const carried = sequence?.carry.map(({ output }) => output) ?? [];
    known = {
      known: { model: name, names: signature.inputs.map((input) => input.name) },
      head: `{"model_name":${JSON.stringify(name)},"model_version":"${version}","outputs":[`,
      names: signature.outputs.map((output) => JSON.stringify(output.name)),
      places: [...signature.outputs.keys()].filter((at) =>
        !carried.includes(signature.outputs[at].name)
      ),
    };
    texts.set(served, known);
  }
  return known;
}

function responseHead(served: ServedModel, id: string): string {
  const { head } = textsOf(served);
  return id === "" ? head : `{"id":${JSON.stringify(id)},` + head.slice(1);
}

const JSON_ALONE: ResponseInit = { headers: { "content-type": "application/json" } };
const WITH_BINARY: ResponseInit = { headers: { "content-type": "application/octet-stream" } };

/** Appending to a constant beginning is the cheapest way that Deno has for headers that change. */
function inferenceResponse({ body, jsonBytes }: ResponseBody, serverTiming: string): Response {
  const response = new Response(body, jsonBytes === 0 ? JSON_ALONE : WITH_BINARY);
  const { headers } = response;
  if (jsonBytes > 0) headers.append("inference-header-content-length", String(jsonBytes));
  headers.append("server-timing", serverTiming);
  return response;
}

const encoder = new TextEncoder();

async function compressedResponse(
  { body, jsonBytes }: ResponseBody,
  serverTiming: string,
  coding: ContentCoding,
  { codecs, errorResponse }: InferOptions,
): Promise<Response> {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  try {
    const compressed = { body: await codecs.compress(coding, bytes), jsonBytes };
    const response = inferenceResponse(compressed, serverTiming);
    response.headers.set("content-encoding", coding);
    return response;
  } catch (fault) {
    return errorResponse(toSluiceError(fault));
  }
}
