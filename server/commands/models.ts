/**
 * `deno task models`: what there is to serve, and how it does.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { FileRepository } from "../../models/repository.ts";
import { formatBytes } from "../bytes.ts";
import { resolveConfig } from "../config.ts";
import { DEFAULT_REPOSITORY } from "../main.ts";
import {
  type Command,
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
} from "./command.ts";
import { GatewayClient } from "./gateway_client.ts";
import { parseMetrics, quantile, type Sample } from "./prometheus.ts";
import { carrying, joining } from "./signature.ts";
import { type Column, formatTable, printable } from "./table.ts";

/** One model version. What is not known, or not applicable, is absent. */
export interface ModelRow {
  /** The model. */
  readonly name: string;
  /** Its version. */
  readonly version?: string;
  /** READY, UNAVAILABLE, LOADING, UNLOADING, NOT LOADED; ON DISK when no gateway was asked. */
  readonly state: string;
  /** Why it is not ready, or whether its requests are joined, and why. */
  readonly note?: string;
  /** That it runs in sequences, and whether they are joined, and why. */
  readonly sequences?: string;
  /** Bytes kept while it is loaded. */
  readonly persistentBytes?: number;
  /** Largest working memory of one iteration so far, bytes. */
  readonly ephemeralBytes?: number;
  /** State of its open sequences, bytes. */
  readonly stateBytes?: number;
  /** Sequences that are open. */
  readonly openSequences?: number;
  /** Requests waiting. */
  readonly queued?: number;
  /** Requests answered, successfully or not. */
  readonly requests?: number;
  /** Median time of a request, milliseconds. */
  readonly p50Millis?: number;
  /** 99th percentile, milliseconds. */
  readonly p99Millis?: number;
}

/** Tells what is no result. */
type Say = (message: string) => void;

const COLUMNS: readonly (Column & { readonly show: (row: ModelRow) => string })[] = [
  { head: "NAME", show: ({ name }) => name },
  { head: "VERSION", align: "right", show: ({ version }) => version ?? "-" },
  { head: "STATE", show: ({ state }) => state },
  { head: "PERSISTENT", align: "right", show: (row) => bytes(row.persistentBytes) },
  { head: "EPHEMERAL", align: "right", show: (row) => bytes(row.ephemeralBytes) },
  { head: "SEQUENCES", align: "right", show: sequencesWithState },
  { head: "QUEUED", align: "right", show: ({ queued }) => `${queued ?? "-"}` },
  { head: "REQUESTS", align: "right", show: ({ requests }) => `${requests ?? "-"}` },
  { head: "P50", align: "right", show: (row) => millis(row.p50Millis) },
  { head: "P99", align: "right", show: (row) => millis(row.p99Millis) },
];

const DEFAULT_URL = (({ host, port }) => `http://${host}:${port}`)(resolveConfig({}));

const AFTER_HELP = `
Without flags it asks the gateway at ${DEFAULT_URL}, and shows what is in ./${DEFAULT_REPOSITORY} when
none answers. P50 and P99 are of whole requests since the model was loaded.

Examples:
  deno task models
  deno task models --server http://gateway:8000 --json
  deno task models --repository /srv/models

Exit codes: 0 done; 1 failed; 2 wrong flags.
`;

/** Shows the models of a gateway or of a repository. */
export const models: Run = defineCommand(
  "models",
  (command: Command) =>
    command.description(
      "Show every model: state, bytes, queue, requests, latency, what is joined and why.",
    )
      .option("--server <url>", "Ask the gateway there.")
      .option("--repository <dir>", "Show what lies in a folder; ask no gateway.")
      .option("--json", "Print JSON instead of a table.")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const { server, repository, json }: { server?: string; repository?: string; json?: true } =
      command.opts();
    if (server !== undefined && repository !== undefined) {
      throw new UsageError("--server and --repository are both given; expected one of them");
    }
    const say: Say = (message) => io.err(printable(message) + "\n");
    const rows = repository !== undefined
      ? await rowsOnDisk(repository, say)
      : server !== undefined
      ? await rowsOfGateway(new GatewayClient(server))
      : await rowsWithoutFlags(say);
    io.out(json ? JSON.stringify(rows, null, 2) + "\n" : table(rows));
    return EXIT.ok;
  },
);

async function rowsWithoutFlags(say: Say): Promise<ModelRow[]> {
  try {
    return await rowsOfGateway(new GatewayClient(DEFAULT_URL));
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== "not_found") throw error;
    say(`${error.message}; this is what lies in ./${DEFAULT_REPOSITORY}`);
    return await rowsOnDisk(DEFAULT_REPOSITORY, say);
  }
}

async function rowsOfGateway(client: GatewayClient): Promise<ModelRow[]> {
  const index = await client.index();
  const statistics = new Map(
    (await client.statistics()).map((entry) => [`${entry.name}/${entry.version}`, entry]),
  );
  const metrics = parseMetrics(await client.metrics());
  return index.map(({ name, version, state, reason }) => {
    const mine = (metric: string) =>
      (metrics.get(metric) ?? []).filter(({ labels }) =>
        labels.model === name && labels.version === version
      );
    const buckets = mine("sluice_request_duration_seconds_bucket");
    const stats = statistics.get(`${name}/${version}`);
    const [joined] = mine("sluice_max_joined_sequences");
    const figure = (metric: string) => joined && mine(metric)[0]?.value;
    const memory = (type: string) =>
      stats?.memory_usage?.find((usage) => usage.type === type)?.byte_size;
    return {
      name,
      version,
      state: state ?? "NOT LOADED",
      note: reason ?? joinedRows(mine("sluice_max_joined_rows")[0]),
      sequences: joinedRows(joined, "sequences"),
      persistentBytes: memory("persistent"),
      ephemeralBytes: memory("ephemeral"),
      stateBytes: figure("sluice_sequence_state_bytes"),
      openSequences: figure("sluice_open_sequences"),
      queued: mine("nv_inference_pending_request_count")[0]?.value,
      requests: stats && stats.inference_stats.success.count + stats.inference_stats.fail.count,
      p50Millis: toMillis(quantile(buckets, 0.5)),
      p99Millis: toMillis(quantile(buckets, 0.99)),
    };
  });
}

/** Other servers than this gateway do not say. */
function joinedRows(
  sample: Sample | undefined,
  what?: "requests" | "sequences",
): string | undefined {
  if (sample === undefined) return undefined;
  const { value: maxRows, labels: { reason } } = sample;
  return joining({ join: maxRows > 1, maxRows, reason, probe: false }, what);
}

async function rowsOnDisk(folder: string, say: Say): Promise<ModelRow[]> {
  const repository = new FileRepository(folder, { warn: (message) => say(`Warning: ${message}`) });
  const rows: ModelRow[] = [];
  for (const name of await repository.list()) {
    try {
      for (const model of await repository.read(name)) {
        rows.push({
          name,
          version: `${model.version}`,
          state: "ON DISK",
          note: joining(model.batching),
          sequences: sequencesOnDisk(model),
        });
      }
    } catch (error) {
      rows.push({ name, state: "UNAVAILABLE", note: messageOf(error) });
    }
  }
  return rows;
}

function sequencesOnDisk({ sequence }: Model): string | undefined {
  return sequence && `${carrying(sequence)}; ${joining(sequence.batching, "sequences")}`;
}

function table(rows: readonly ModelRow[]): string {
  if (rows.length === 0) return "No models. Add one with: deno task register NAME SOURCE\n";
  const notes = rows.flatMap(({ name, version, note, sequences }) =>
    [note, sequences].filter((line) => line !== undefined).map((line) =>
      `${version === undefined ? name : `${name}/${version}`}: ${printable(line)}\n`
    )
  );
  const lines = formatTable(COLUMNS, rows.map((row) => COLUMNS.map(({ show }) => show(row))));
  return lines + (notes.length > 0 ? "\n" + notes.join("") : "");
}

function sequencesWithState({ openSequences, stateBytes }: ModelRow): string {
  return openSequences ? `${openSequences} (${bytes(stateBytes)})` : `${openSequences ?? "-"}`;
}

function bytes(count: number | undefined): string {
  return count === undefined ? "-" : formatBytes(count);
}

function millis(value: number | undefined): string {
  if (value === undefined) return "-";
  return `${value < 100 ? value.toPrecision(3) : value.toFixed()} ms`;
}

function toMillis(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

if (import.meta.main) await runAsProcess(models);
