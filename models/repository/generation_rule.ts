/**
 * Checks that a model can generate text as its manifest says.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { CarriedTensor, GenerationRule, ModelSignature } from "../model.ts";
import type { Datatype, TensorSpec } from "../tensor.ts";

/** What the rule names, and what it must be. */
const TENSORS: readonly {
  readonly key: "tokens" | "position" | "logits";
  readonly side: "inputs" | "outputs";
  readonly datatype: Datatype;
  readonly shape: string;
  fits(shape: readonly number[]): boolean;
}[] = [
  {
    key: "tokens",
    side: "inputs",
    datatype: "INT64",
    shape: "[rows, tokens], the number of tokens free",
    fits: (shape) => shape.length === 2 && shape[1] === -1,
  },
  {
    key: "position",
    side: "inputs",
    datatype: "INT64",
    shape: "[rows]",
    fits: (shape) => shape.length === 1,
  },
  {
    key: "logits",
    side: "outputs",
    datatype: "FP32",
    shape: "[rows, vocabulary]",
    fits: (shape) => shape.length === 2,
  },
];

/**
 * Holds a rule against the model.
 *
 * @param where How errors call the manifest.
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkGeneration(
  rule: GenerationRule,
  signature: ModelSignature,
  carry: readonly CarriedTensor[],
  where: string,
): void {
  const refuse = (key: string, fault: string) =>
    new SluiceError("invalid_argument", `${where}: "generation${key}" ${fault}`);
  for (const { key, side, datatype, shape, fits } of TENSORS) {
    const name = rule[key];
    const spec = signature[side].find((spec) => spec.name === name);
    const expected = `expected an ${side.slice(0, -1)} of ${datatype} of shape ${shape}`;
    if (spec === undefined) throw refuse(`.${key}`, `names ${missing(name, signature[side])}`);
    if (carry.some(({ input, output }) => name === (side === "inputs" ? input : output))) {
      throw refuse(`.${key}`, `names "${name}", which is carried over; ${expected} that is not`);
    }
    if (spec.datatype !== datatype || spec.unranked || !fits(spec.shape)) {
      const given = spec.unranked ? "without a shape" : `of shape [${spec.shape}]`;
      throw refuse(`.${key}`, `names "${name}", ${spec.datatype} ${given}; ${expected}`);
    }
  }
  const vocabulary = signature.outputs.find(({ name }) => name === rule.logits)!.shape[1];
  if (vocabulary >= 0 && rule.endToken >= vocabulary) {
    const expected = `expected 0 to ${
      vocabulary - 1
    }, as "${rule.logits}" has ${vocabulary} scores`;
    throw refuse(".endToken", `is ${rule.endToken}; ${expected}`);
  }
  const given = new Set([rule.tokens, rule.position, ...carry.map(({ input }) => input)]);
  const other = signature.inputs.find(({ name, optional }) => !optional && !given.has(name));
  if (other !== undefined) {
    throw refuse(
      "",
      `says nothing of input "${other.name}", which the model needs beside tokens, position and ` +
        "what is carried over",
    );
  }
}

function missing(name: string, specs: readonly TensorSpec[]): string {
  const known = specs.map((spec) => `"${spec.name}"`).join(", ");
  return `"${name}"; the model has ${known}`;
}
