/**
 * Which outputs of a model carry over to which inputs, as its manifest and its configuration say it,
 * held against the model's own inputs and outputs.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { Manifest } from "../manifest.ts";
import type { CarriedTensor, ModelSignature } from "../model.ts";
import type { TensorSpec } from "../tensor.ts";
import type { ModelConfig } from "../triton_config/model_config.ts";

/** An output and the input that takes its value, as declared. */
export interface Carry {
  /** The output's name. */
  readonly output: string;
  /** The input's name. */
  readonly input: string;
  /** How errors call the declaration. */
  readonly where: string;
}

/** What declares that something carries over. */
export interface CarrySources {
  /** The manifest. */
  readonly manifest: Manifest;
  /** How errors call it. */
  readonly manifestName: string;
  /** Triton's configuration, where there is one. */
  readonly config?: ModelConfig;
  /** How errors call that. */
  readonly where: string;
}

/** What is declared in either place; the same in both counts once. */
export function declaredCarry(sources: CarrySources): Carry[] {
  const { manifest, manifestName, config, where } = sources;
  const carry = Object.entries(manifest.carry ?? {}).map(([output, input]) => ({
    output,
    input,
    where: `${manifestName}: "carry"`,
  }));
  const known = new Set(carry.map(({ output, input }) => JSON.stringify([output, input])));
  for (const { output_name = "", input_name = "" } of config?.sequence_batching?.state ?? []) {
    if (known.has(JSON.stringify([output_name, input_name]))) continue;
    carry.push({
      output: output_name,
      input: input_name,
      where: `${where}: "sequence_batching.state"`,
    });
  }
  return carry;
}

/**
 * Finds the tensors that carry over.
 *
 * @throws {SluiceError} `invalid_argument` where the model has no such tensor, or two that do not fit
 *   one another.
 */
export function carriedTensors(
  carry: readonly Carry[],
  { inputs, outputs }: ModelSignature,
): CarriedTensor[] {
  return carry.map((one, i) => {
    const { output, input, where } = one;
    const refuse = (fault: string) => new SluiceError("invalid_argument", `${where} ${fault}`);
    const giver = outputs.find(({ name }) => name === output);
    if (giver === undefined) throw refuse(`names output ${quoted(output)}; ${named(outputs)}`);
    const taker = inputs.find(({ name }) => name === input);
    if (taker === undefined) throw refuse(`names input ${quoted(input)}; ${named(inputs)}`);
    const before = carry.slice(0, i);
    const rival = before.find((other) => other.input === input || other.output === output);
    if (rival !== undefined) {
      throw refuse(
        `has ${arrow(one)} and ${arrow(rival)}; expected one output for each input, and one ` +
          "input for each output",
      );
    }
    const fault = misfit(giver, taker);
    if (fault !== undefined) throw refuse(`has ${arrow(one)}: ${fault}`);
    const { datatype, shape } = taker;
    const batchAxis = shape.indexOf(-1);
    return { input, output, datatype, shape: shape.map((dim) => dim < 0 ? 1 : dim), batchAxis };
  });
}

/** Why an output's value cannot be an input's. What the output's shape leaves open may be. */
function misfit(output: TensorSpec, input: TensorSpec): string | undefined {
  if (output.datatype !== input.datatype) {
    return `the output is ${output.datatype} and the input ${input.datatype}; expected the same`;
  }
  if (input.datatype === "BYTES") return "both are BYTES; expected numbers, whose size is known";
  if (input.unranked) return "the input declares no shape; expected one";
  const free = input.shape.filter((dim) => dim < 0).length;
  if (free > 1) {
    return `the input has the shape [${input.shape}] with ${free} free dimensions; expected at ` +
      "most one, along which sequences are joined. A cache that grows has a fixed size and a mask";
  }
  if (output.unranked) return undefined;
  const fits = output.shape.length === input.shape.length &&
    output.shape.every((dim, axis) => dim < 0 || dim === input.shape[axis]);
  if (fits) return undefined;
  return `the output has the shape [${output.shape}] and the input [${input.shape}]; expected the ` +
    "same sizes, and a free dimension at the same place";
}

function named(specs: readonly TensorSpec[]): string {
  return `the model has ${specs.map(({ name }) => quoted(name)).join(", ") || "none"}`;
}

function arrow({ output, input }: Carry): string {
  return `${quoted(output)} to ${quoted(input)}`;
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
