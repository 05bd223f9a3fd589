/**
 * One text on its way: a sequence whose every iteration is given the token that the one before has
 * led to.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { GenerationRule } from "../../models/model.ts";
import type { Tensor } from "../../models/tensor.ts";
import type {
  Advance,
  Engine,
  OpenSequence,
  SequenceRequest,
  ServedModel,
  Timing,
} from "../engine/api.ts";
import { record } from "../engine/statistics.ts";
import { ByteText } from "./byte_text.ts";
import { Sampler, type SamplingOptions } from "./sampling.ts";
import { generationStatistics } from "./statistics.ts";
import { TokenInputs } from "./token_inputs.ts";

/** What is asked of a model that generates text. */
export interface TextRequest {
  /** Empty when the client sent none. */
  readonly id: string;
  /** UTF-8. */
  readonly prompt: Uint8Array<ArrayBuffer>;
  /** Tokens at most, at least 1. With those of the prompt they fit the model's cache. */
  readonly maxTokens: number;
  /** How each is chosen. */
  readonly sampling: SamplingOptions;
  /** UTF-8 strings that end the text and are no part of it. */
  readonly stop: readonly Uint8Array<ArrayBuffer>[];
  /** 1 is most urgent; 0 when none was given. */
  readonly priority: number;
  /** Until the whole text is worthless, microseconds; 0 when there is no limit. */
  readonly timeoutMicros: number;
  /** Whose it is. */
  readonly tenant?: string;
}

/** How a text ended. */
export interface Ending {
  /** The model or a stop string ended it, or it has as many tokens as were asked for. */
  readonly reason: "stop" | "length";
  /** Tokens of the prompt, the one that begins it included. */
  readonly promptTokens: number;
  /** Tokens that were generated, the one that ends the text included. */
  readonly completionTokens: number;
}

/** How a text spent its time so far. */
export interface TextTiming {
  /** From arrival to the start of its first iteration. */
  readonly queueMicros: number;
  /** From arrival to its first token. */
  readonly firstTokenMicros: number;
  /** Device time of its iterations. */
  readonly computeMicros: number;
  /** Iterations run. */
  readonly iterations: number;
  /** The policy's reason for the first. */
  readonly because: string;
}

/** Who takes the text. Nothing here may throw. */
export interface TextReader {
  /** The next characters; false when no more are wanted before {@linkcode Generation.resume}. */
  write(text: string, timing: TextTiming): boolean;
  /** All has been written. */
  end(ending: Ending, timing: TextTiming): void;
  /** There will be no more. */
  fail(error: SluiceError): void;
}

/** A text that is being generated. */
export class Generation implements SequenceRequest {
  /** As asked. */
  readonly id: string;
  /** The first piece of the prompt. */
  readonly inputs: readonly Tensor[];
  /** As asked. */
  readonly priority: number;
  /** As asked. */
  readonly timeoutMicros: number;
  /** As asked. */
  readonly tenant: string | undefined;
  /** As many as it takes where nothing but `maxTokens` ends it. */
  readonly iterations: number;
  /** It ends by itself, and is waited for. */
  readonly endless = false;
  readonly #rule: GenerationRule;
  readonly #asked: TextRequest;
  readonly #reader: TextReader;
  readonly #clock: Clock;
  readonly #tokens: TokenInputs;
  readonly #text: ByteText;
  #sampler: Sampler | undefined;
  #open: OpenSequence | undefined;
  /** The reader has been told the end, or is gone: nothing more is for it. */
  #over = false;
  /** What it goes on with when its reader has caught up. */
  #held: readonly Tensor[] | undefined;
  #completionTokens = 0;
  readonly #createdAt: number;
  /** Of the last token, or of what took its place as the beginning of a wait for the next. */
  #tokenAt: number;
  readonly #timing = {
    queueMicros: 0,
    firstTokenMicros: 0,
    computeMicros: 0,
    iterations: 0,
    because: "",
  };

  /**
   * Generates nothing before {@linkcode start}.
   *
   * @param signal Fires when the client has left.
   */
  constructor(
    readonly served: ServedModel,
    rule: GenerationRule,
    asked: TextRequest,
    reader: TextReader,
    clock: Clock,
    readonly signal?: AbortSignal,
  ) {
    this.id = asked.id;
    this.priority = asked.priority;
    this.timeoutMicros = asked.timeoutMicros;
    this.tenant = asked.tenant;
    this.#rule = rule;
    this.#asked = asked;
    this.#reader = reader;
    this.#clock = clock;
    this.#tokens = new TokenInputs(rule, asked.prompt);
    this.#text = new ByteText(asked.stop);
    this.#createdAt = this.#tokenAt = clock.nowMicros();
    // The last piece of the prompt leads to the first token.
    this.iterations = this.#tokens.promptPieces + asked.maxTokens - 1;
    this.inputs = this.#tokens.nextPiece();
  }

  /** Asks the engine for it. */
  start(engine: Engine): void {
    this.#open = engine.openSequence(this);
    if (this.#open === undefined) return;
    generationStatistics(this.served).promptTokens += this.#tokens.promptTokens;
  }

  /** The reader can take more. Does nothing where none has been refused. */
  resume(): void {
    const inputs = this.#held;
    if (inputs === undefined || !this.#open?.waiting) return;
    this.#held = undefined;
    this.#tokenAt = this.#clock.nowMicros();
    try {
      this.#open.feed({ inputs, timeoutMicros: this.#timeLeft() });
    } catch (fault) {
      this.#open.end();
      this.fail(toSluiceError(fault));
    }
  }

  /** The reader is gone. */
  stop(): void {
    this.#over = true;
    this.#held = undefined;
    this.#open?.end();
  }

  fail(error: SluiceError): void {
    if (this.#over) return;
    this.#over = true;
    this.#held = undefined;
    this.#reader.fail(error);
  }

  advance(outputs: readonly Tensor[], timing: Timing): Advance {
    if (this.#over) return "end";
    try {
      this.#account(timing);
      return this.#tokens.promptGiven ? this.#next(outputs) : this.#tokens.nextPiece();
    } catch (fault) {
      return toSluiceError(fault);
    }
  }

  /** Of what was asked for, at least the shortest time; 0 when there is no limit. */
  #timeLeft(): number {
    if (this.timeoutMicros === 0) return 0;
    return Math.max(1, this.#createdAt + this.timeoutMicros - this.#clock.nowMicros());
  }

  #account({ queueMicros, computeMicros, because }: Timing): void {
    const timing = this.#timing;
    if (timing.iterations++ === 0) {
      timing.queueMicros = queueMicros;
      timing.because = because;
    }
    timing.computeMicros += computeMicros;
  }

  #next(outputs: readonly Tensor[]): Advance {
    const token = this.#choose(outputs);
    this.#count();
    const ended = token === this.#rule.endToken;
    const piece = ended ? "" : this.#text.push(token);
    const reason = ended || this.#text.stopped
      ? "stop"
      : this.#completionTokens === this.#asked.maxTokens
      ? "length"
      : undefined;
    if (reason !== undefined) return this.#end(reason, piece);
    const more = piece === "" || this.#reader.write(piece, this.#timing);
    const inputs = this.#tokens.nextToken(token);
    if (more) return inputs;
    this.#held = inputs;
    return "wait";
  }

  #choose(outputs: readonly Tensor[]): number {
    const logits = outputs.find(({ name }) => name === this.#rule.logits);
    if (logits === undefined) {
      throw new SluiceError("internal", `No output '${this.#rule.logits}' came back`);
    }
    this.#sampler ??= new Sampler(logits.data.byteLength / 4, this.#asked.sampling);
    const token = this.#sampler.next(logits.data);
    if (token < 256 || token === this.#rule.endToken) return token;
    throw new SluiceError(
      "execution_failed",
      `The model chose token ${token}, expected a byte or its end token, ${this.#rule.endToken}`,
    );
  }

  #count(): void {
    const statistics = generationStatistics(this.served);
    const now = this.#clock.nowMicros();
    const micros = now - this.#tokenAt;
    this.#tokenAt = now;
    statistics.generatedTokens++;
    if (this.#completionTokens++ > 0) return record(statistics.tokenGapMicros, micros);
    this.#timing.firstTokenMicros = micros;
    record(statistics.firstTokenMicros, micros);
  }

  #end(reason: Ending["reason"], piece: string): Advance {
    const rest = piece + this.#text.end();
    if (rest !== "") this.#reader.write(rest, this.#timing);
    this.#over = true;
    const { promptTokens } = this.#tokens;
    const completionTokens = this.#completionTokens;
    this.#reader.end({ reason, promptTokens, completionTokens }, this.#timing);
    return "end";
  }
}
