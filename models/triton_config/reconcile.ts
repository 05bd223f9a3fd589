/**
 * Holds a configuration against the file that it configures, and fills it in as Triton does.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { ModelSignature, SequenceRule } from "../model.ts";
import type { Datatype, TensorSpec } from "../tensor.ts";
import type { ModelConfig } from "./model_config.ts";
import { MODEL_CONFIG } from "./model_config_schema.ts";
import { withDefaults } from "./schema.ts";

/** What a configuration lists of a tensor. */
type Listed = NonNullable<ModelConfig["input"] | ModelConfig["output"]>[number];

type Refuse = (fault: string) => SluiceError;

/**
 * The file's signature as the configuration narrows it: free dimensions that it fixes are fixed,
 * outputs that it does not list are left out. Order and batch dimension stay the file's.
 *
 * @param where How errors call the configuration.
 * @param carry What carries over between a sequence's iterations: it need not be listed.
 * @throws {SluiceError} `invalid_argument` where the two contradict one another.
 */
export function reconcile(
  config: ModelConfig,
  signature: ModelSignature,
  where: string,
  carry: readonly { readonly input: string; readonly output: string }[] = [],
): ModelSignature {
  const refuse: Refuse = (fault) => new SluiceError("invalid_argument", `${where}: ${fault}`);
  const maxBatch = config.max_batch_size ?? 0;
  if (maxBatch < 0) throw refuse(`"max_batch_size" is ${maxBatch}; expected 0 or more`);
  const batched = maxBatch > 0;
  const states = config.sequence_batching?.state ?? [];
  const carried = (side: "input" | "output"): Listed[] => [
    ...carry.map((one) => ({ name: one[side] })),
    ...states.map(({ data_type, dims, ...names }) => ({
      name: names[`${side}_name`],
      data_type,
      dims,
    })),
  ];
  const inputs = narrow("input", config.input, signature.inputs, batched, refuse);
  const outputs = narrow("output", config.output, signature.outputs, batched, refuse);
  addCarried("input", carried("input"), inputs, signature.inputs, batched, refuse);
  addCarried("output", carried("output"), outputs, signature.outputs, batched, refuse);
  for (const { name, optional } of signature.inputs) {
    if (inputs.has(name) || optional) continue;
    throw refuse(`"input" does not list ${JSON.stringify(name)}, which the model needs`);
  }
  return {
    ...signature,
    inputs: signature.inputs.map((spec) => inputs.get(spec.name) ?? spec),
    outputs: signature.outputs.flatMap((spec) => outputs.get(spec.name) ?? []),
  };
}

function narrow(
  side: "input" | "output",
  listed: readonly Listed[] | undefined,
  specs: readonly TensorSpec[],
  batched: boolean,
  refuse: Refuse,
): Map<string, TensorSpec> {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  if (batched) { for (const spec of specs) checkLeadsWithBatch(side, spec, refuse); }
  if (listed === undefined || listed.length === 0) return byName;
  const result = new Map<string, TensorSpec>();
  for (const tensor of listed) {
    const name = tensor.name ?? "";
    const spec = byName.get(name);
    if (spec === undefined) {
      const known = [...byName.keys()].map((known) => JSON.stringify(known)).join(", ");
      throw refuse(`"${side}" lists ${JSON.stringify(name)}; the model has ${known || "none"}`);
    }
    if (result.has(name)) throw refuse(`"${side}" lists ${JSON.stringify(name)} twice`);
    result.set(name, narrowed(side, tensor, spec, batched, refuse));
  }
  return result;
}

/** What carries over is there though it may not be listed; what the model lacks is refused later. */
function addCarried(
  side: "input" | "output",
  carried: readonly Listed[],
  result: Map<string, TensorSpec>,
  specs: readonly TensorSpec[],
  batched: boolean,
  refuse: Refuse,
): void {
  for (const tensor of carried) {
    const spec = result.get(tensor.name!) ?? specs.find(({ name }) => name === tensor.name);
    if (spec !== undefined) result.set(spec.name, narrowed(side, tensor, spec, batched, refuse));
  }
}

function checkLeadsWithBatch(side: string, { name, shape, unranked }: TensorSpec, refuse: Refuse) {
  if (unranked || shape[0] === -1) return;
  throw refuse(
    `"max_batch_size" is above 0, so every tensor must lead with a free batch dimension; ` +
      `${side} ${JSON.stringify(name)} has shape [${shape}]. Set it to 0`,
  );
}

function narrowed(
  side: string,
  listed: Listed,
  spec: TensorSpec,
  batched: boolean,
  refuse: Refuse,
): TensorSpec {
  const what = `${side} ${JSON.stringify(spec.name)}`;
  const given = listed.data_type ?? "TYPE_INVALID";
  if (given !== "TYPE_INVALID" && given !== tritonType(spec.datatype)) {
    throw refuse(`${what} has data_type ${given}; the model has ${tritonType(spec.datatype)}`);
  }
  // What the model itself sees. The shape that clients would send under a reshape is not offered.
  const dims = listed.reshape === undefined ? listed.dims : listed.reshape.shape ?? [];
  if (dims === undefined || dims.length === 0) return spec;
  for (const dim of dims) {
    if (dim !== -1 && dim < 1) {
      throw refuse(`${what} has dims [${dims}]; expected 1 or more, or -1`);
    }
  }
  const shape = batched ? [-1, ...dims] : dims;
  if (spec.unranked) return { name: spec.name, datatype: spec.datatype, shape };
  const fits = shape.length === spec.shape.length &&
    shape.every((dim, axis) => spec.shape[axis] === -1 || spec.shape[axis] === dim);
  if (!fits) {
    const own = batched ? spec.shape.slice(1) : spec.shape;
    throw refuse(
      `${what} has dims [${dims}]; the model has [${own}]` + (batched ? " after the batch" : ""),
    );
  }
  return { ...spec, shape };
}

/** Triton's name of a datatype. */
function tritonType(datatype: Datatype): `TYPE_${string}` {
  return datatype === "BYTES" ? "TYPE_STRING" : `TYPE_${datatype}`;
}

/**
 * A configuration with everything that Triton fills in itself, every field at its default.
 *
 * @param signature What {@linkcode reconcile} gave.
 * @param sequence What carries over is shown as the states of `sequence_batching`, wherever it was
 *   declared; it is no input or output where every request must be part of a sequence.
 */
export function completeConfig(
  config: ModelConfig,
  name: string,
  fileName: string,
  signature: ModelSignature,
  sequence?: SequenceRule,
): Record<string, unknown> {
  const maxBatch = config.max_batch_size ?? 0;
  const dimsOf = ({ shape }: TensorSpec) => maxBatch > 0 ? shape.slice(1) : shape;
  const isHidden = (side: "input" | "output", { name }: TensorSpec) =>
    sequence?.required === true && sequence.carry.some((carried) => carried[side] === name);
  const listed = (side: "input" | "output", specs: readonly TensorSpec[]) =>
    specs.filter((spec) => !isHidden(side, spec)).map((spec) => {
      const given: readonly Listed[] | undefined = config[side];
      const own = given?.find((tensor) => tensor.name === spec.name);
      const optional = spec.optional === true ? { optional: true } : {};
      return {
        dims: dimsOf(spec),
        ...optional,
        ...own,
        name: spec.name,
        data_type: tritonType(spec.datatype),
      };
    });
  const { direct, oldest, ...sequences } = config.sequence_batching ?? {};
  const states = (sequence?.carry ?? []).map(({ input, output, datatype }) => ({
    ...sequences.state?.find(({ input_name }) => input_name === input),
    input_name: input,
    output_name: output,
    data_type: tritonType(datatype),
    dims: dimsOf(signature.inputs.find((spec) => spec.name === input)!),
  }));
  return withDefaults(MODEL_CONFIG, {
    ...config,
    name,
    platform: "onnxruntime_onnx",
    backend: "onnxruntime",
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: maxBatch,
    input: listed("input", signature.inputs),
    output: listed("output", signature.outputs),
    optimization: {
      input_pinned_memory: { enable: true },
      output_pinned_memory: { enable: true },
      ...config.optimization,
    },
    ...(config.dynamic_batching === undefined ? {} : {
      dynamic_batching: { preferred_batch_size: [maxBatch], ...config.dynamic_batching },
    }),
    ...(sequence === undefined || config.dynamic_batching !== undefined ? {} : {
      sequence_batching: {
        ...(oldest === undefined ? { direct: direct ?? {} } : { oldest }),
        ...sequences,
        max_sequence_idle_microseconds: sequence.maxIdleMicros,
        state: states,
      },
    }),
    instance_group: config.instance_group ?? [{ name, kind: "KIND_CPU", count: 1 }],
    default_model_filename: fileName,
  });
}
