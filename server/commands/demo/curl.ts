/**
 * Requests to paste into a shell.
 *
 * @module
 */
import type { Starter } from "../../../models/starter/starters.ts";
import type { Tensor } from "../../../models/tensor.ts";

/** A command line and what it is for. */
export interface CurlLine {
  /** In a few words. */
  readonly about: string;
  /** The line itself, for any POSIX shell. */
  readonly line: string;
}

const STORY = { text_input: "Three boats lay before the gate:", max_tokens: 500 };

/** Lines that work at once on a server of the starter models. */
export function curlLines(server: string, starters: readonly Starter[]): CurlLine[] {
  const digits = starters.find(({ name }) => name === "digits")!;
  const wine = starters.find(({ name }) => name === "wine")!;
  const classify = [{ name: "probabilities", parameters: { classification: 3 } }];
  return [
    {
      about: "Which digit is this? The three likeliest, as probability:class:label",
      line: post(server, digits.name, digits.samples[7], classify), // a seven
    },
    { about: "Which cultivar is this wine?", line: post(server, wine.name, wine.samples[0]) },
    {
      about: "How does the story go on?",
      line: `curl -s ${server}/v2/models/storyteller/generate -d '${JSON.stringify(STORY)}'`,
    },
    { about: "What a model takes and gives", line: `curl -s ${server}/v2/models/${digits.name}` },
    {
      about: "What it has done so far",
      line: `curl -s ${server}/v2/models/${digits.name}/stats`,
    },
    { about: "Every figure, for Prometheus", line: `curl -s ${server}/metrics` },
  ];
}

function post(server: string, model: string, sample: readonly Tensor[], outputs?: unknown): string {
  const inputs = sample.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape,
    data: [...new Float32Array(data.slice().buffer)].map(shortest),
  }));
  const body = JSON.stringify({ inputs, outputs });
  return `curl -s ${server}/v2/models/${model}/infer -d '${body}'`;
}

/** The shortest decimal of at most seven digits, which is all that FP32 holds. */
function shortest(value: number): number {
  return Number(value.toPrecision(7));
}
