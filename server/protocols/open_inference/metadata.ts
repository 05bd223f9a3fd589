/**
 * Server and model metadata of the Open Inference Protocol.
 *
 * @module
 */
import type { ServedModel } from "../../engine/api.ts";
import { VERSION } from "../../version.ts";
import type { Model } from "../../../models/model.ts";
import type { TensorSpec } from "../../../models/tensor.ts";

/** Extensions that work here, by Triton's names. Clients switch features on by them. */
export const EXTENSIONS: readonly string[] = [
  "classification",
  "sequence",
  "sequence(string_id)",
  "model_repository",
  "model_repository(unload_dependents)",
  "schedule_policy",
  "model_configuration",
  "binary_tensor_data",
  "parameters",
  "statistics",
  "generate",
];

/** `GET /v2`. */
export interface ServerMetadata {
  /** Whose it is. */
  readonly name: string;
  /** The server's version. */
  readonly version: string;
  /** See {@linkcode EXTENSIONS}. */
  readonly extensions: readonly string[];
}

/** `GET /v2`. */
export function serverMetadata(): ServerMetadata {
  return { name: "sluice", version: VERSION, extensions: EXTENSIONS };
}

/** A tensor in a model's metadata; -1 is a free dimension. */
export interface TensorMetadata {
  /** Whose it is. */
  readonly name: string;
  /** A datatype of the protocol. */
  readonly datatype: string;
  /** One number for every dimension. */
  readonly shape: readonly number[];
}

/** `GET /v2/models/{model}`. */
export interface ModelMetadata {
  /** Whose it is. */
  readonly name: string;
  /** Ready versions, ascending. */
  readonly versions: readonly string[];
  /** What runs it, by Triton's names. */
  readonly platform: string;
  /** In the model's order. */
  readonly inputs: readonly TensorMetadata[];
  /** In the model's order. */
  readonly outputs: readonly TensorMetadata[];
}

/** Triton's name for ONNX models, where a model's configuration gives none. */
const PLATFORM = "onnxruntime_onnx";

/**
 * A model's metadata. What only ever runs in sequences shows no tensors that carry over from one
 * request to the next, as in Triton: nobody can give or get them.
 *
 * @param versions What `versions` lists, ascending.
 */
export function modelMetadata(model: Model, versions: readonly ServedModel[]): ModelMetadata {
  const { platform } = model.config;
  const carry = model.sequence?.required ? model.sequence.carry : [];
  const tensor = ({ name, datatype, shape, unranked }: TensorSpec) => ({
    name,
    datatype,
    shape: unranked ? [-1] : model.maxBatchSize > 0 ? [-1, ...shape.slice(1)] : shape,
  });
  return {
    name: model.name,
    versions: versions.map(({ model }) => String(model.version)),
    platform: typeof platform === "string" && platform !== "" ? platform : PLATFORM,
    inputs: model.signature.inputs
      .filter(({ name }) => !carry.some(({ input }) => input === name)).map(tensor),
    outputs: model.signature.outputs
      .filter(({ name }) => !carry.some(({ output }) => output === name)).map(tensor),
  };
}
