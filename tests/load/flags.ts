/**
 * Simple scenarios by flags, without a file.
 *
 * @module
 */
import { type Command, UsageError } from "../../server/commands/command.ts";
import type { Arrivals, GenerateLoad, ScenarioInput } from "./scenario.ts";
import { ARRIVAL_KINDS } from "./scenario_schema.ts";

/** Flags that take one value. */
export type TextFlag =
  | ("scenario" | "url" | "duration" | "warmup" | "seed" | "connections" | "timeout")
  | ("rate" | "arrivals" | "zipf" | "concurrency" | "think")
  | ("slo" | "deadline" | "priority" | "inputs" | "free" | "sequence" | "tenant")
  | ("prompt" | "prompts" | "maxTokens" | "temperature" | "sloTtft" | "sloTbt");

/** What commander gives: text, but for lists. */
export type LoadFlags = { readonly [Flag in TextFlag]?: string } & {
  readonly model?: readonly string[];
};

/** Adds the flags that say what to send. */
export function defineScenarioFlags(command: Command): Command {
  return command
    .option("--scenario <file>", "JSON file; those marked * may be given with it, and win.")
    .option("--url <url>", "The server. * (default: http://127.0.0.1:8000)")
    .option("--model <name...>", "Models to ask; in the order of their popularity.")
    .option("--rate <n>", "Open loop: requests per second, of all models together.")
    .option(
      "--arrivals <kind>",
      "constant, poisson, gamma:CV, ramp:TO, burst:SIZE or trace:FILE. (default: poisson)",
    )
    .option("--zipf <s>", "The n-th model gets requests as 1/n^s. (default: 0, evenly)")
    .option("--concurrency <n>", "Closed loop instead: clients of each model.")
    .option("--think <ms>", "Mean pause of such a client, exponential. (default: 0)")
    .option("--duration <s>", "Seconds to count. * (default: 10)")
    .option("--warmup <s>", "Seconds to send before counting. * (default: 1)")
    .option("--seed <n>", "Same seed, same requests at the same times. * (default: 1)")
    .option("--connections <n>", "Most requests under way in an open loop. * (default: 1000)")
    .option("--timeout <s>", "When a client gives up. * (default: 30)")
    .option("--slo <ms>", "What is answered within it is goodput.")
    .option("--deadline <ms>", "Sent as the parameter timeout.")
    .option("--priority <n>", "Sent as the parameter priority.")
    .option("--tenant <name>", "Sent as the parameter tenant: whose requests they are.")
    .option("--inputs <file>", "Request bodies of the protocol, instead of random values.")
    .option(
      "--free <n>",
      "Size of dimensions that a model leaves free, but for the batch. (default: 1)",
    )
    .option("--sequence <n>", "Closed loop: each client sends sequences of n requests.")
    .option("--prompt <text>", "Generate text: what each request begins with.")
    .option("--prompts <file>", "Or a JSON array of such texts.")
    .option("--max-tokens <n>", "Of each answer, or MIN-MAX: each draws its own. (default: 64)")
    .option("--temperature <t>", "Of the sampling; 0 is greedy. (default: the server's)")
    .option("--slo-ttft <ms>", "Goodput has its first token within it.")
    .option("--slo-tbt <ms>", "Goodput has 99 of 100 tokens within it of the one before.");
}

/** The settings that may also be given with a file. */
export function overrides(flags: LoadFlags): Partial<ScenarioInput> {
  return present({
    url: flags.url,
    durationSeconds: number("--duration", flags.duration),
    warmupSeconds: number("--warmup", flags.warmup),
    seed: number("--seed", flags.seed),
    connections: number("--connections", flags.connections),
    timeoutSeconds: number("--timeout", flags.timeout),
  });
}

/** Flags that say what a file says too. */
const FILE_ONLY = [
  ...["model", "rate", "arrivals", "zipf", "concurrency", "think", "slo", "deadline", "priority"],
  ...["inputs", "free", "sequence", "tenant", "prompt", "prompts", "maxTokens", "temperature"],
  ...["sloTtft", "sloTbt"],
] as const;

/**
 * The scenario that flags make without a file.
 *
 * @throws {UsageError} When they do not make one.
 */
export function scenarioOfFlags(flags: LoadFlags): ScenarioInput {
  if (flags.model === undefined) {
    throw new UsageError("--model and --scenario are missing; expected one of them");
  }
  const open = flags.rate ?? flags.arrivals;
  if ((open === undefined) === (flags.concurrency === undefined)) {
    throw new UsageError(
      open === undefined
        ? "There is no load; expected --rate or --concurrency"
        : "--concurrency is given together with --rate or --arrivals; expected one loop",
    );
  }
  if (flags.think !== undefined && flags.concurrency === undefined) {
    throw new UsageError("--think is given without --concurrency, whose clients it is for");
  }
  const load = present({
    sloMs: number("--slo", flags.slo),
    deadlineMs: number("--deadline", flags.deadline),
    priority: number("--priority", flags.priority),
    tenant: flags.tenant,
    inputs: flags.inputs,
    free: number("--free", flags.free),
    sloTtftMs: number("--slo-ttft", flags.sloTtft),
    sloTbtMs: number("--slo-tbt", flags.sloTbt),
    generate: generate(flags),
    sequence: flags.sequence === undefined
      ? undefined
      : { steps: number("--sequence", flags.sequence) },
  });
  return {
    ...overrides(flags),
    ...present({ zipf: number("--zipf", flags.zipf) }),
    ...(open === undefined
      ? {
        closed: {
          concurrency: number("--concurrency", flags.concurrency),
          ...present({ thinkMs: number("--think", flags.think) }),
        },
      }
      : { arrivals: arrivals(flags) }),
    models: flags.model.map((name) => ({ name, ...load })),
  };
}

/**
 * Checks that no flag says again what the file says.
 *
 * @throws {UsageError} When one does.
 */
export function refuseBesideFile(flags: LoadFlags): void {
  const given = FILE_ONLY.find((name) => flags[name] !== undefined);
  if (given !== undefined) {
    const flag = given.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase());
    throw new UsageError(`--${flag} is given together with --scenario; write it into the file`);
  }
}

const DEFAULT_TOKENS = 64;

function generate(
  { prompt, prompts, maxTokens, temperature }: LoadFlags,
): GenerateLoad | undefined {
  if (prompt === undefined && prompts === undefined) {
    const lost = maxTokens !== undefined ? "--max-tokens" : temperature && "--temperature";
    if (!lost) return undefined;
    throw new UsageError(`${lost} is given without --prompt or --prompts, whose answers it is for`);
  }
  const [min, max] = (maxTokens ?? `${DEFAULT_TOKENS}`).split("-")
    .map((text) => number("--max-tokens", text));
  return present({
    prompt,
    prompts,
    maxTokens: max === undefined ? min : { min, max },
    temperature: number("--temperature", temperature),
  });
}

function arrivals({ arrivals = "poisson", rate }: LoadFlags): Arrivals {
  const [kind, argument] = arrivals.split(/:(.*)/s);
  if (kind === "trace") {
    if (rate !== undefined) throw new UsageError("--rate is given with a trace, which has its own");
    if (!argument) throw new UsageError(`--arrivals is "${arrivals}"; expected trace:FILE`);
    return { kind, file: argument };
  }
  const known = ARRIVAL_KINDS.find((name) => name === kind);
  if (known === undefined) {
    throw new UsageError(
      `--arrivals is "${arrivals}"; expected one of ${ARRIVAL_KINDS.join(", ")}`,
    );
  }
  if (rate === undefined) throw new UsageError(`--rate is missing; --arrivals ${kind} needs it`);
  // That the numbers make sense is checked with the whole scenario.
  return { kind: known, rate: number("--rate", rate), ...shape(known, argument) } as Arrivals;
}

/** What a kind of arrivals has beside its rate, behind the colon. */
function shape(kind: Arrivals["kind"], argument: string | undefined): object {
  const key = { gamma: "cv", ramp: "to", burst: "size" }[kind as string];
  if (key !== undefined && argument) return { [key]: number("--arrivals", argument) };
  if (key === undefined && argument === undefined) return {};
  throw new UsageError(
    `--arrivals is "${kind}${argument === undefined ? "" : `:${argument}`}"; ` +
      `expected ${key === undefined ? `${kind} alone` : `${kind}:${key.toUpperCase()}`}`,
  );
}

function number<T extends string | undefined>(
  flag: string,
  text: T,
): T extends string ? number : number | undefined;
function number(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new UsageError(`${flag} is "${text}"; expected a number`);
}

/** Without what is undefined: a key that is there wins over the file's. */
function present<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined)) as T;
}
