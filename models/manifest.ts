/**
 * `<model>/manifest.json`: what the project knows of a model beyond Triton's configuration. It is
 * optional, and written by a registration.
 *
 * @module
 */
import { z } from "zod";
import { messageOf, SluiceError } from "./errors.ts";
import type { GenerationRule, JobOrigin } from "./model.ts";
import { isModelName, NAME_RULE } from "./repository/names.ts";
import { isDatatype, type Tensor } from "./tensor.ts";
import { tensorFromJson, tensorToJson } from "./tensor_json.ts";

/** Rows that an iteration may join where nobody says otherwise. The engine chooses far fewer. */
export const DEFAULT_MAX_BATCH = 32;

const probeSchema = z.strictObject({
  join: z.boolean(),
  reason: z.string(),
  batchedInputs: z.array(z.boolean()),
});

const versionSchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 hexadecimal digits").optional(),
  bytes: z.int().nonnegative().optional(),
  source: z.string().optional(),
  batching: probeSchema.optional(),
  sequenceBatching: probeSchema.optional(),
  job: z.strictObject({ id: z.string().min(1), iterations: z.int().nonnegative() }).optional(),
});

const tensorSchema = z.strictObject({
  name: z.string(),
  datatype: z.string().refine(isDatatype, "expected a datatype such as FP32"),
  shape: z.array(z.int().nonnegative()),
  data: z.array(z.union([z.number(), z.string(), z.boolean()])).optional(),
  base64: z.base64().optional(),
}).transform((json, context) => {
  try {
    return tensorFromJson(json);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.addIssue(error.message);
    return z.NEVER;
  }
});

/** A week: nobody waits longer, and timers can. */
const LONGEST_IDLE_SECONDS = 7 * 24 * 3600;
/** More than any cache of fixed size holds. */
const MOST_TOKENS = 2 ** 20;

const generationSchema = z.strictObject({
  tokens: z.string(),
  position: z.string(),
  logits: z.string(),
  maxTokens: z.int().positive().max(MOST_TOKENS),
  endToken: z.int().nonnegative(),
});

const manifestSchema = z.strictObject({
  versions: z.record(z.string().regex(/^[1-9][0-9]*$/, "expected a version"), versionSchema)
    .optional(),
  maxBatch: z.int().positive().optional(),
  priority: z.int().positive().optional(),
  weight: z.number().positive().optional(),
  pin: z.boolean().optional(),
  samples: z.array(z.array(tensorSchema)).optional(),
  labels: z.record(z.string(), z.array(z.string())).optional(),
  carry: z.record(z.string(), z.string()).optional(),
  maxIdleSeconds: z.number().positive().max(LONGEST_IDLE_SECONDS).optional(),
  generation: generationSchema.optional(),
  checkpoint: z.string().refine(isModelName, {
    error: ({ input }) => `is ${JSON.stringify(input)}; ${NAME_RULE}`,
  }).optional(),
});

/** Whether requests may be joined, as a probe found out. */
export interface BatchingProbe {
  /** Joined answers equalled separate ones. */
  readonly join: boolean;
  /** Why, or why not, in a sentence. */
  readonly reason: string;
  /** For every input: whether axis 0 is the batch. */
  readonly batchedInputs: readonly boolean[];
}

/** What is known of one version. */
export interface VersionRecord {
  /** Hash of the model file when it was registered, hexadecimal. */
  readonly sha256?: string;
  /** Bytes of the model file and its external data. */
  readonly bytes?: number;
  /** Where it was fetched from. */
  readonly source?: string;
  /** What the probe found. */
  readonly batching?: BatchingProbe;
  /** What the probe of its sequences found. */
  readonly sequenceBatching?: BatchingProbe;
  /** The job that wrote it as a checkpoint. */
  readonly job?: JobOrigin;
}

/** A manifest. */
export interface Manifest {
  /** Records by version; of folders that are not there they mean nothing. */
  readonly versions?: Readonly<Record<string, VersionRecord>>;
  /** Largest number of rows to join; {@linkcode DEFAULT_MAX_BATCH} when absent. */
  readonly maxBatch?: number;
  /** Priority of requests that name none; 1 is most urgent. */
  readonly priority?: number;
  /** Share of device time under fair policies; 1 when absent. */
  readonly weight?: number;
  /** Never evicted. */
  readonly pin?: boolean;
  /** Complete requests that the model runs on. */
  readonly samples?: readonly (readonly Tensor[])[];
  /** Labels by output name. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Inputs by the outputs whose values they take in a sequence's next iteration. */
  readonly carry?: Readonly<Record<string, string>>;
  /** A sequence that waits longer for its client is ended; 60 when absent. */
  readonly maxIdleSeconds?: number;
  /** How the model generates text. */
  readonly generation?: GenerationRule;
  /** The model whose versions the checkpoints of its jobs are; itself when absent. */
  readonly checkpoint?: string;
}

/**
 * Reads a manifest.
 *
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument`: no JSON, a key that is unknown, a value that is wrong.
 */
export function parseManifest(text: string, fileName: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new SluiceError(
      "invalid_argument",
      `${fileName} is no JSON: ${messageOf(error)}`,
      { cause: error },
    );
  }
  const parsed = manifestSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `"${path.map(String).join(".")}": ${message}`
  );
  throw new SluiceError("invalid_argument", `${fileName}: ${faults.join("; ")}`);
}

/** A manifest as the file has it. */
export function formatManifest(manifest: Manifest): string {
  const samples = manifest.samples?.map((sample) => sample.map(tensorToJson));
  return JSON.stringify({ ...manifest, samples }, null, 2) + "\n";
}
