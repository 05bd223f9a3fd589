/**
 * A model that generates what a test says, and sequences of it that a test steps itself.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { GenerationRule, Model } from "../../../models/model.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { Tensor } from "../../../models/tensor.ts";
import type { Feed, OpenSequence, SequenceRequest, Timing } from "../../../server/engine/api.ts";
import { modelWith } from "../../fixtures/model.ts";

/** How the model is driven. */
export const RULE: GenerationRule = {
  tokens: "tokens",
  position: "position",
  logits: "logits",
  maxTokens: 300,
  endToken: 256,
};

/** Bytes and the end token. */
export const VOCABULARY = 257;

/** A model named `writer` that generates text. */
export function writer(rule: GenerationRule = RULE): Model {
  const batching = {
    maxRows: 8,
    join: true,
    reason: "declared",
    batchedInputs: [true, true],
    maxDelayMicros: 0,
    probe: false,
  };
  return modelWith("writer", {
    inputs: [
      { name: "tokens", datatype: "INT64", shape: [-1, -1] },
      { name: "position", datatype: "INT64", shape: [-1] },
      { name: "past", datatype: "FP32", shape: [-1, 4] },
    ],
    outputs: [
      { name: "present", datatype: "FP32", shape: [-1, 4] },
      { name: "logits", datatype: "FP32", shape: [-1, VOCABULARY] },
    ],
  }, {
    sequence: {
      carry: [{ input: "past", output: "present", datatype: "FP32", shape: [1, 4], batchAxis: 0 }],
      batching,
      maxIdleMicros: 60_000_000,
      required: false,
      generation: rule,
      checkpoint: "writer",
    },
  });
}

/** The logits of a token that is all but certain. */
export function certain(token: number): Float32Array<ArrayBuffer> {
  return new Float32Array(VOCABULARY).fill(-1).fill(9, token, token + 1);
}

/** Logits for the tokens that the cache holds, the one that begins the text first. */
export type Script = (cache: readonly number[]) => Float32Array<ArrayBuffer>;

/**
 * Continues a prompt with these bytes, and then the end token. Of a prompt that is not complete it
 * knows nothing.
 */
export function saying(
  prompt: string,
  answer: string | Uint8Array<ArrayBuffer>,
): Script {
  const encoder = new TextEncoder();
  const bytes = typeof answer === "string" ? encoder.encode(answer) : answer;
  const promptTokens = 1 + encoder.encode(prompt).length;
  return (cache) =>
    cache.length < promptTokens
      ? new Float32Array(VOCABULARY).fill(NaN)
      : certain(bytes[cache.length - promptTokens] ?? RULE.endToken);
}

/** Of every iteration. */
export const TIMING: Timing = {
  queueMicros: 12,
  computeMicros: 40,
  batchRows: 8,
  lane: 0,
  because: "oldest first",
};

/** A sequence that runs an iteration when it is told to. */
export class ScriptedSequence implements OpenSequence {
  /** Shapes of the tokens of every iteration: how many each was given. */
  readonly given: number[] = [];
  /** Tokens that the cache holds. */
  readonly cache: number[] = [];
  /** It was ended by its owner. */
  ended = false;
  /** It has come to its end, whoever ended it. */
  over = false;
  iterationsDone = 0;
  /** What it was fed last. */
  fed: Feed | undefined;
  #next: readonly Tensor[] | "wait" | "end";

  constructor(readonly request: SequenceRequest, readonly script: Script) {
    this.#next = request.inputs ?? "wait";
  }

  get attainedMicros(): number {
    return this.iterationsDone * TIMING.computeMicros;
  }

  get waiting(): boolean {
    return this.#next === "wait";
  }

  /** Runs one iteration. */
  step(): void {
    if (typeof this.#next === "string") throw new TypeError(`The sequence has to ${this.#next}`);
    this.#take(this.#next);
    this.iterationsDone++;
    const data = new Uint8Array(this.script(this.cache).buffer);
    const logits: Tensor = { name: "logits", datatype: "FP32", shape: [1, VOCABULARY], data };
    const next = this.request.advance([logits], TIMING);
    if (next instanceof SluiceError) this.request.fail(next);
    else if (!this.over) this.#next = next;
    if (next === "end" || next instanceof SluiceError) this.over = true;
  }

  #take(inputs: readonly Tensor[]): void {
    const [tokens, position] = inputs.map(({ data, shape }) => ({
      shape,
      values: Array.from(new BigInt64Array(data.slice().buffer), Number),
    }));
    assert.deepEqual(inputs.map(({ name }) => name), ["tokens", "position"]);
    assert.deepEqual(tokens.shape, [1, tokens.values.length]);
    assert.deepEqual(position, { shape: [1], values: [this.cache.length] });
    this.given.push(tokens.values.length);
    this.cache.push(...tokens.values);
  }

  /** Runs until it waits or ends. */
  run(): void {
    while (!this.over && !this.waiting) this.step();
  }

  feed(feed: Feed): void {
    if (!this.waiting) throw new TypeError("Does not wait");
    this.fed = feed;
    this.#next = feed.inputs;
  }

  state(): Tensor[] {
    return [];
  }

  end(): void {
    this.ended = this.over = true;
    this.#next = "end";
  }
}
