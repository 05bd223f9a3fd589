/**
 * `POST /v2/models/{model}[/versions/{version}]/generate` and `generate_stream`: Triton's and
 * KServe's generate extension.
 *
 * @module
 */
import type { Clock } from "../../../models/clock.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { GenerationRule, Model } from "../../../models/model.ts";
import type { Engine, ServedModel } from "../../engine/api.ts";
import {
  type Ending,
  Generation,
  type TextReader,
  type TextRequest,
  type TextTiming,
} from "../../generation/generation.ts";
import { readFields } from "../json_body.ts";
import type { Target } from "../open_inference/infer.ts";
import { formatTextTiming } from "../server_timing.ts";
import { jsonBody } from "../status.ts";
import { EventStream } from "./event_stream.ts";
import { endingFields, textHead } from "./fields.ts";
import { decodeGenerateRequest } from "./request.ts";

/** What the routes need. */
export interface GenerateOptions {
  /** Runs the sequences. */
  readonly engine: Engine;
  /** Largest body, as sent and unfolded. */
  readonly maxBodyBytes: number;
  /** Times the tokens. */
  readonly clock: Clock;
}

/** Answers with the whole text. Rejects with what goes wrong. */
export async function generate(
  request: Request,
  target: Target,
  options: GenerateOptions,
): Promise<Response> {
  const call = await readCall(request, target, options, false);
  return await new Promise((resolve, reject) => {
    const head = textHead(call.served, call.asked.id);
    let text_output = "";
    start(call, request, options, {
      write(text) {
        text_output += text;
        return true;
      },
      end(ending: Ending, timing: TextTiming) {
        const response = jsonBody({ ...head, text_output, ...endingFields(ending) });
        response.headers.append("server-timing", formatTextTiming(timing));
        resolve(response);
      },
      fail: reject,
    });
  });
}

/** Answers with the text as it comes. Rejects with what goes wrong before its first piece. */
export async function generateStream(
  request: Request,
  target: Target,
  options: GenerateOptions,
): Promise<Response> {
  const call = await readCall(request, target, options, true);
  return await new Promise((resolve, reject) => {
    const stream = new EventStream(textHead(call.served, call.asked.id), resolve, reject);
    stream.drives(start(call, request, options, stream));
  });
}

/** What is asked, and of whom. */
interface Call {
  readonly served: ServedModel;
  readonly rule: GenerationRule;
  readonly asked: TextRequest;
}

async function readCall(
  request: Request,
  { name, version }: Target,
  { engine, maxBodyBytes }: GenerateOptions,
  streams: boolean,
): Promise<Call> {
  ruleOf(engine.find(name, version).model);
  const fields = await readFields(request, maxBodyBytes);
  const served = engine.find(name, version); // it may have been reloaded meanwhile
  const rule = ruleOf(served.model);
  return { served, rule, asked: decodeGenerateRequest(fields, rule, streams) };
}

function ruleOf({ name, sequence }: Model): GenerationRule {
  if (sequence?.generation !== undefined) return sequence.generation;
  throw new SluiceError(
    "invalid_argument",
    `Model '${name}' generates no text: its manifest.json has no 'generation'`,
  );
}

function start(
  { served, rule, asked }: Call,
  { signal }: Request,
  { engine, clock }: GenerateOptions,
  reader: TextReader,
): Generation {
  const generation = new Generation(served, rule, asked, reader, clock, signal);
  generation.start(engine);
  return generation;
}
