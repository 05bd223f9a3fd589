/**
 * Jobs for people: in a table, and one alone.
 *
 * @module
 */
import type { JobEntry } from "./gateway_client.ts";
import { type Column, formatTable, printable } from "./table.ts";

const COLUMNS: readonly (Column & { readonly show: (job: JobEntry) => string })[] = [
  { head: "ID", show: ({ id }) => id },
  { head: "NAME", show: ({ name }) => name || "-" },
  { head: "MODEL", show: label },
  { head: "STATE", show: ({ state }) => state },
  { head: "ITERATIONS", align: "right", show: progress },
  { head: "METRICS", show: metrics },
  { head: "LEFT", align: "right", show: left },
  { head: "CHECKPOINT", show: (job) => checkpoints(job).at(-1) ?? "-" },
];

/** A row for each job, and below it what went wrong. */
export function jobTable(jobs: readonly JobEntry[]): string {
  if (jobs.length === 0) return "There are no jobs\n";
  const table = formatTable(COLUMNS, jobs.map((job) => COLUMNS.map(({ show }) => show(job))));
  const faults = jobs.flatMap((job) => faultsOf(job).map((fault) => `${job.id}: ${fault}\n`));
  return faults.length === 0 ? table : `${table}\n${faults.join("")}`;
}

/** All of one job. */
export function jobText(job: JobEntry): string {
  const lines: readonly (readonly [string, string])[] = [
    ["Job", job.id + (job.name && ` (${printable(job.name)})`)],
    ["Model", label(job)],
    ["State", job.state + (job.remaining_seconds === undefined ? "" : `, ${left(job)} left`)],
    ["Iterations", progress(job)],
    ["Time", `${seconds(job.run_seconds)}, of it ${seconds(job.device_seconds)} on the device`],
    ["Metrics", metrics(job)],
    ["Checkpoints", checkpoints(job).join(", ") || "-"],
  ];
  const text = lines.map(([name, value]) => `${name.padEnd(13)}${value}\n`);
  return text.join("") + faultsOf(job).map((fault) => `\n${fault}\n`).join("");
}

/** Where it is, in a line. */
export function jobLine(job: JobEntry): string {
  const rest = job.remaining_seconds === undefined ? "" : `, ${left(job)} left`;
  return `Job ${job.id} ${job.state}: ${progress(job)}, ${metrics(job)}${rest}`;
}

function label({ model, version }: JobEntry): string {
  return version === undefined ? model : `${model}/${version}`;
}

function progress({ iterations_done: done, iterations }: JobEntry): string {
  return `${done}/${iterations} (${Math.floor(100 * done / iterations)} %)`;
}

function metrics(job: JobEntry): string {
  const values = Object.entries(job.metrics).map(([name, value]) =>
    `${printable(name)} ${Number(value.toPrecision(4))}`
  );
  return values.join(" ") || "-";
}

function left({ remaining_seconds: rest }: JobEntry): string {
  return rest === undefined ? "-" : seconds(rest);
}

function checkpoints(job: JobEntry): string[] {
  return job.checkpoints.map(({ model, version }) => `${model}/${version}`);
}

function faultsOf({ error, checkpoint_error }: JobEntry): string[] {
  const faults = new Set([error, checkpoint_error]); // without its last checkpoint they are one
  return [...faults].filter((fault) => fault !== undefined).map(printable);
}

function seconds(value: number): string {
  if (value < 100) return `${value < 10 ? value.toFixed(1) : value.toFixed()} s`;
  return value < 6000 ? `${(value / 60).toFixed()} min` : `${(value / 3600).toFixed()} h`;
}
