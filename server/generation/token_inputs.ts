/**
 * What a generation's iterations are given: first the prompt, in pieces of few different lengths so
 * that few shapes are ever compiled, then one token at a time.
 *
 * @module
 */
import type { GenerationRule } from "../../models/model.ts";
import type { Tensor } from "../../models/tensor.ts";

/** Longest piece of a prompt, tokens. All pieces are powers of two: 7 shapes serve every length. */
const LONGEST_PIECE = 64;

/** The largest piece that so many tokens begin with. */
function pieceOf(tokens: number): number {
  return Math.min(LONGEST_PIECE, 2 ** Math.floor(Math.log2(tokens)));
}

/** Inputs of one generation. Those of a token share their memory with the token's before. */
export class TokenInputs {
  readonly #rule: GenerationRule;
  /** INT64 as pairs of 32 bits: tokens and positions are small, and numbers are cheaper. */
  readonly #prompt: Uint32Array<ArrayBuffer>;
  readonly #token = new Uint32Array(2);
  readonly #position = new Uint32Array(2);
  readonly #next: readonly Tensor[];
  #given = 0;

  /** The token that begins a text, then the bytes of `prompt`. */
  constructor(rule: GenerationRule, prompt: Uint8Array<ArrayBuffer>) {
    this.#rule = rule;
    this.#prompt = new Uint32Array(2 * (1 + prompt.length));
    this.#prompt[0] = rule.endToken;
    for (let i = 0; i < prompt.length; i++) this.#prompt[2 * (1 + i)] = prompt[i];
    this.#next = this.#inputs(1, this.#token);
  }

  /** Tokens of the prompt, the first included. */
  get promptTokens(): number {
    return this.#prompt.length / 2;
  }

  /** Iterations that the prompt takes. */
  get promptPieces(): number {
    let pieces = 0;
    for (let left = this.promptTokens; left > 0; left -= pieceOf(left)) pieces++;
    return pieces;
  }

  /** Whether all of the prompt was given. */
  get promptGiven(): boolean {
    return this.#given >= this.promptTokens;
  }

  /** The next piece of the prompt. */
  nextPiece(): readonly Tensor[] {
    const at = this.#given;
    const length = pieceOf(this.promptTokens - at);
    this.#position[0] = at;
    this.#given += length;
    return this.#inputs(length, this.#prompt.subarray(2 * at, 2 * (at + length)));
  }

  /** One token that follows the prompt and the tokens before. */
  nextToken(token: number): readonly Tensor[] {
    this.#token[0] = token;
    this.#position[0] = this.#given++;
    return this.#next;
  }

  #inputs(length: number, tokens: Uint32Array<ArrayBuffer>): readonly Tensor[] {
    const { tokens: name, position } = this.#rule;
    return [
      { name, datatype: "INT64", shape: [1, length], data: bytesOf(tokens) },
      { name: position, datatype: "INT64", shape: [1], data: bytesOf(this.#position) },
    ];
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
