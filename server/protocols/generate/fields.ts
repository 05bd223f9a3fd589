/**
 * What the answers of a generate request have in common.
 *
 * @module
 */
import type { ServedModel } from "../../engine/api.ts";
import type { Ending } from "../../generation/generation.ts";

/** What every answer begins with, each event of a stream too. */
export interface TextHead {
  /** As in the request; absent when it had none. */
  readonly id?: string;
  /** Who answers. */
  readonly model_name: string;
  /** A decimal number. */
  readonly model_version: string;
}

/** The head of the answers to one request. */
export function textHead({ model }: ServedModel, id: string): TextHead {
  const named = { model_name: model.name, model_version: String(model.version) };
  return id === "" ? named : { id, ...named };
}

/** What the end of a text adds. */
export interface EndingFields {
  /** The model or a stop string ended it, or `max_tokens` did. */
  readonly finish_reason: Ending["reason"];
  /** Tokens of the prompt, the one that begins it included, and of the text, the one that ends it. */
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

/** The fields of an ending. */
export function endingFields({ reason, promptTokens, completionTokens }: Ending): EndingFields {
  return {
    finish_reason: reason,
    usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens },
  };
}
