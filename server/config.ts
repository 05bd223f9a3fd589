/**
 * Everything that can be set about a gateway, declared once: the schema below validates the config
 * file, is published as `config.schema.json`, and gives `start` its flags, their help and defaults.
 *
 * @module
 */
import { z } from "zod";
import { SluiceError } from "../models/errors.ts";
import { DEFAULT_POLICY, POLICIES } from "../policies/mod.ts";
import { parseBytes, SIZE_PATTERN } from "./bytes.ts";
import { didYouMean } from "./nearest.ts";

/** A complete configuration, defaults filled in. */
export interface GatewayConfig {
  /** Address to listen on. */
  readonly host: string;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Folder of the models; `./repository`, created when it is not there, where none is named. */
  readonly repository?: string;
  /** What runs the models: `auto`, `cpu`, `cuda`, `cuda:1` and so on, or `simulated`. */
  readonly device: string;
  /** NVIDIA's driver library; the system's where absent. */
  readonly cudaDriver?: string;
  /** Iterations that run at once. */
  readonly lanes: number;
  /** Iterations expected to take no longer have one more lane of their own, microseconds; 0: none. */
  readonly express: number;
  /** Threads in ONNX Runtime's one pool; all cores where absent. */
  readonly threads?: number;
  /** What models may take, bytes; three quarters of the machine's memory where absent. */
  readonly memory?: number;
  /** A policy's name, or the path of a file whose default export is one. */
  readonly policy: string;
  /** Opens the routes that change anything; they are open to loopback only where absent. */
  readonly adminKey?: string;
  /** Largest request body, bytes. */
  readonly maxBody: number;
  /** All request bodies together that are being received or answered, bytes. */
  readonly maxBodies: number;
  /** Requests that may wait for one model version. */
  readonly maxQueueRequests: number;
  /** Bytes of requests that may wait for one model version. */
  readonly maxQueueBytes: number;
  /** Seconds to go on accepting, not ready, once a shutdown has begun. */
  readonly drainDelay: number;
  /** Seconds after that to finish what was accepted. */
  readonly drainTimeout: number;
  /** Answer a full queue and a passed deadline with 503, as Triton does. */
  readonly tritonStatusCodes: boolean;
  /** Not ready while any model of the repository failed to load. */
  readonly strictReadiness: boolean;
  /** File that every scheduling decision is appended to. */
  readonly decisionLog?: string;
  /** Print only what is wrong. */
  readonly quiet: boolean;
}

/** Settings that are bytes. */
export type SizeName = "memory" | "maxBody" | "maxBodies" | "maxQueueBytes";

/** A configuration as people write it: everything optional, sizes as text or bytes. */
export type GatewaySettings = {
  readonly [Name in keyof GatewayConfig]?: Name extends SizeName ? number | string
    : GatewayConfig[Name];
};

/** How a setting looks on the command line, and what its value must be, for messages. */
export interface SettingNotes {
  /** The flag's placeholder, e.g. `<port>`; absent for a switch. */
  readonly argument?: string;
  /** Completes "expected ...". */
  readonly expected: string;
  /** Never printed. */
  readonly secret?: boolean;
}

const notes = z.registry<SettingNotes>();

const SIZE = "a size such as 512MiB, 2GB or a number of bytes";
/** Eleven days; timers end at twenty-four. */
const MOST_SECONDS = 1_000_000;
const SECONDS = `a number of seconds from 0 to ${MOST_SECONDS}`;
/** Each is a thread, or working memory of its own: more than any machine has use for. */
const MOST_PARALLEL = 1024;
const PARALLEL = `a whole number from 1 to ${MOST_PARALLEL}`;

const size = z.union([z.int().nonnegative(), z.string().regex(SIZE_PATTERN)])
  .transform((value, context) => {
    const bytes = typeof value === "number" ? value : parseBytes(value);
    if (bytes !== undefined && bytes > 0) return bytes;
    context.addIssue({ code: "custom", message: "out of range" });
    return z.NEVER;
  });
const positive = z.int().positive();
const parallel = z.int().min(1).max(MOST_PARALLEL);
const seconds = z.number().min(0).max(MOST_SECONDS);
const onOff = z.boolean();

const settings = {
  host: z.string().min(1).default("127.0.0.1")
    .describe("Address to listen on; 0.0.0.0 for all interfaces.")
    .register(notes, { argument: "<host>", expected: "a host name or an IP address" }),
  port: z.int().min(0).max(65535).default(8000)
    .describe("Port to listen on; 0 picks a free one.")
    .register(notes, { argument: "<port>", expected: "a whole number from 0 to 65535" }),
  repository: z.string().min(1).optional()
    .describe("Folder of the models. Without it: ./repository, created when it is not there.")
    .register(notes, { argument: "<dir>", expected: "the path of a folder" }),
  device: z.string().regex(/^(auto|cpu|simulated|cuda(:(0|[1-9]\d?))?)$/).default("auto")
    .describe(
      "What runs the models: cpu, cuda (cuda:1 is the second GPU), simulated for made-up answers; " +
        "auto is cuda where there is a GPU with its driver, else cpu.",
    )
    .register(notes, {
      argument: "<name>",
      expected: "auto, cpu, cuda, cuda:1 and so on, or simulated",
    }),
  cudaDriver: z.string().min(1).optional()
    .describe("NVIDIA's driver library. Without it: the one that the system has.")
    .register(notes, { argument: "<path>", expected: "the path of a library" }),
  lanes: parallel.default(2)
    .describe("Iterations that run at once.")
    .register(notes, { argument: "<n>", expected: PARALLEL }),
  express: z.int().min(0).max(100_000).default(250)
    .describe("Microseconds; iterations this short have one more lane of their own. 0: they wait.")
    .register(notes, { argument: "<us>", expected: "a whole number from 0 to 100000" }),
  threads: parallel.optional()
    .describe("Threads of ONNX Runtime's one pool, shared by all lanes. Without it: all cores.")
    .register(notes, { argument: "<n>", expected: PARALLEL }),
  memory: size.optional()
    .describe(
      "What models and lanes may take; at most what the machine has. Without it: 3/4 of that.",
    )
    .register(notes, { argument: "<size>", expected: SIZE }),
  policy: z.string().refine((text) => POLICIES.has(text) || /[./\\]/.test(text))
    .default(DEFAULT_POLICY.name)
    .describe(
      `Who runs next: ${[...POLICIES.keys()].join(", ")}, or a file whose default export is one.`,
    )
    .register(notes, {
      argument: "<name|file>",
      expected: `${[...POLICIES.keys()].join(", ")} or the path of a file`,
    }),
  adminKey: z.string().regex(/^[\x21-\x7e]+$/).optional()
    .describe(
      "Key for the routes that change anything. Without it they are open to loopback only. " +
        "Flags show in ps: prefer the environment variable SLUICE_ADMIN_KEY.",
    )
    .register(notes, {
      argument: "<key>",
      expected: "printable ASCII without spaces",
      secret: true,
    }),
  maxBody: size.prefault("64MiB")
    .describe("Largest request body, compressed or not.")
    .register(notes, { argument: "<size>", expected: SIZE }),
  maxBodies: size.prefault("1GiB")
    .describe("All bodies over 64 KiB together that are being received or answered.")
    .register(notes, { argument: "<size>", expected: SIZE }),
  maxQueueRequests: positive.default(10_000)
    .describe("Requests that may wait for one model version.")
    .register(notes, { argument: "<n>", expected: "a whole number, 1 or more" }),
  maxQueueBytes: size.prefault("256MiB")
    .describe("Bytes of requests that may wait for one model version.")
    .register(notes, { argument: "<size>", expected: SIZE }),
  drainDelay: seconds.default(0)
    .describe("Seconds to go on accepting after SIGTERM, not ready, so that balancers notice.")
    .register(notes, { argument: "<seconds>", expected: SECONDS }),
  drainTimeout: seconds.default(25)
    .describe("Seconds to finish what was accepted before it is given up.")
    .register(notes, { argument: "<seconds>", expected: SECONDS }),
  tritonStatusCodes: onOff.default(false)
    .describe("Answer a full queue and a passed deadline with 503, as Triton does.")
    .register(notes, { expected: "true or false" }),
  strictReadiness: onOff.default(false)
    .describe("Not ready while any model of the repository failed to load.")
    .register(notes, { expected: "true or false" }),
  decisionLog: z.string().min(1).optional()
    .describe("File that every scheduling decision is appended to, one JSON object a line.")
    .register(notes, { argument: "<file>", expected: "the path of a file" }),
  quiet: onOff.default(false)
    .describe("Print only what is wrong.")
    .register(notes, { expected: "true or false" }),
} satisfies Record<keyof GatewayConfig, z.ZodType>;

const configSchema = z.strictObject(settings);
const fileSchema = configSchema.extend({
  $schema: z.string().optional().describe("Where this schema lies, for editors."),
});

/** The name of one setting. */
export type SettingName = keyof GatewayConfig;

/** All settings, in the order in which help and documentation show them. */
export const SETTING_NAMES = Object.keys(settings) as readonly SettingName[];

/** One setting as `start --help` shows it. */
export interface SettingFlag extends SettingNotes {
  /** With its dashes, e.g. `--max-body`. */
  readonly flag: string;
  /** What it does, in a sentence or two. */
  readonly description: string;
  /** The default as it would be written in the file; undefined when there is none. */
  readonly default: unknown;
}

/** The flag of a setting, e.g. `--max-body` for `maxBody`. */
export function settingFlag(name: SettingName): SettingFlag {
  const schema = settings[name];
  const { description = "", default: preset } = z.toJSONSchema(schema, { io: "input" });
  return {
    ...notes.get(schema)!,
    flag: "--" + name.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase()),
    description,
    default: preset,
  };
}

/** The JSON Schema of the config file, as published in `server/config.schema.json`. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(fileSchema, { io: "input" });
  return { $schema, title: "Sluice gateway configuration", ...rest };
}

/**
 * Fills in the defaults.
 *
 * @throws {SluiceError} `invalid_argument`, naming the setting, what was given and expected.
 */
export function resolveConfig(given: GatewaySettings): GatewayConfig {
  return parse(configSchema, given, (key) => `Setting "${key}"`, "the settings");
}

/**
 * Reads a config file's text. Only checks it: defaults come with {@linkcode resolveConfig}.
 *
 * @param path Named in messages.
 * @throws {SluiceError} `invalid_argument`, naming the key, what was given and expected.
 */
export function parseConfigFile(text: string, path: string): GatewaySettings {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SluiceError("invalid_argument", `${path} is not valid JSON: ${reason}`, { cause });
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SluiceError(
      "invalid_argument",
      `${path} must hold one JSON object with the settings`,
    );
  }
  parse(fileSchema, given, (key) => `"${key}" in ${path}`, path);
  return Object.fromEntries(Object.entries(given).filter(([key]) => key !== "$schema"));
}

/**
 * A setting given as text, from a flag or the environment.
 *
 * @param where Named in messages, e.g. `--port`.
 * @throws {SluiceError} `invalid_argument`, saying what was given and expected.
 */
export function parseSetting(name: SettingName, text: string, where: string): GatewaySettings {
  const schema = settings[name];
  const number = text.trim() === "" ? NaN : Number(text);
  for (const value of [text, number]) {
    if (schema.safeParse(value).success) return { [name]: value };
  }
  throw wrongValue(where, text, notes.get(schema)!);
}

function parse<S extends z.ZodType>(
  schema: S,
  given: object,
  nameOf: (key: string) => string,
  where: string,
): z.output<S> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  if (issue.code === "unrecognized_keys") {
    const [key] = issue.keys;
    throw new SluiceError(
      "invalid_argument",
      `Unknown setting "${key}" in ${where}${didYouMean(key, SETTING_NAMES)}`,
    );
  }
  const key = String(issue.path[0]) as SettingName;
  const expectation = key in settings ? notes.get(settings[key])! : { expected: "text" };
  throw wrongValue(nameOf(key), (given as Record<string, unknown>)[key], expectation);
}

function wrongValue(
  where: string,
  given: unknown,
  { expected, secret }: SettingNotes,
): SluiceError {
  const value = secret ? "not usable" : JSON.stringify(given);
  return new SluiceError("invalid_argument", `${where} is ${value}; expected ${expected}`);
}
