/**
 * What a load run does, as a JSON file says it: which models of which server get which requests.
 *
 * @module
 */
/** Arrivals of an open loop. */
export type Arrivals =
  | { readonly kind: "constant" | "poisson"; readonly rate: number }
  | { readonly kind: "gamma"; readonly rate: number; readonly cv: number }
  | { readonly kind: "ramp"; readonly rate: number; readonly to: number }
  | { readonly kind: "burst"; readonly rate: number; readonly size: number }
  | { readonly kind: "trace"; readonly file: string };

/** Clients of a closed loop. */
export interface ClosedLoad {
  /** How many. */
  readonly concurrency: number;
  /** Their mean pause between two requests. */
  readonly thinkMs: number;
}

/** Requests for text instead of inference. */
export interface GenerateLoad {
  /** What each begins with. */
  readonly prompt?: string;
  /** Or a file of texts. */
  readonly prompts?: string;
  /** Most tokens of an answer. */
  readonly maxTokens: number | { readonly min: number; readonly max: number };
  /** 0 is greedy. */
  readonly temperature?: number;
  /** Only so many of the likeliest tokens. */
  readonly topK?: number;
  /** Only the likeliest tokens that together have this probability. */
  readonly topP?: number;
  /** Of the sampling. */
  readonly seed?: number;
  /** Texts that end an answer. */
  readonly stop?: readonly string[];
}

/** Requests that belong together. */
export interface SequenceLoad {
  /** Requests of each sequence. */
  readonly steps: number;
}

/** When an answer is worth something; the schema says what each field means. */
export interface Objectives {
  /** The protocol's `timeout`. */
  readonly deadlineMs?: number;
  /** For the whole answer. */
  readonly sloMs?: number;
  /** For the first token. */
  readonly sloTtftMs?: number;
  /** Between two tokens. */
  readonly sloTbtMs?: number;
}

/** One model's part of a {@linkcode Scenario}; the schema says what each field means. */
export interface ModelLoad extends Objectives {
  /** In the report, and as the server calls it. */
  readonly name: string;
  /** As the server calls it instead. */
  readonly model?: string;
  /** The server's choice without it. */
  readonly version?: string;
  /** Its own open loop. */
  readonly arrivals?: Arrivals;
  /** Its own closed loop. */
  readonly closed?: ClosedLoad;
  /** The protocol's parameter. */
  readonly priority?: number;
  /** Whose requests they are. */
  readonly tenant?: string;
  /** Size of free dimensions but the first. */
  readonly free: number;
  /** Exact shapes of some inputs. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** File of requests. */
  readonly inputs?: string;
  /** Text is generated. */
  readonly generate?: GenerateLoad;
  /** Each client of the closed loop sends sequences. */
  readonly sequence?: SequenceLoad;
}

/** A checked scenario, its defaults filled in; the schema says what each field means. */
export interface Scenario {
  /** For editors. */
  readonly $schema?: string;
  /** The server. */
  readonly url: string;
  /** Of schedule and payloads. */
  readonly seed: number;
  /** Counted time. */
  readonly durationSeconds: number;
  /** Time before it. */
  readonly warmupSeconds: number;
  /** The clients' patience. */
  readonly timeoutSeconds: number;
  /** Most requests under way in an open loop. */
  readonly connections: number;
  /** Different payloads of each model. */
  readonly payloads: number;
  /** The shared open loop. */
  readonly arrivals?: Arrivals;
  /** How it is divided. */
  readonly zipf: number;
  /** A closed loop for each model without a load. */
  readonly closed?: ClosedLoad;
  /** At least one. */
  readonly models: readonly ModelLoad[];
}

/** A model's load as a file or flags give it: what has a default may be left out. */
export type ModelLoadInput = Omit<Partial<ModelLoad>, "name" | "closed"> & {
  readonly name: string;
  readonly closed?: Partial<ClosedLoad>;
};

/** A scenario as a file or flags give it. */
export type ScenarioInput = Omit<Partial<Scenario>, "models" | "closed"> & {
  readonly closed?: Partial<ClosedLoad>;
  readonly models: readonly ModelLoadInput[];
};
