/**
 * Triton's perf_analyzer: short measurements by count. What it measures is of no interest here, that
 * it finds all it asks for is.
 *
 * @module
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { temporaryFolder } from "../../../server/commands/temporary_folder.ts";
import { check, type CheckResult, type ClientSetting, program } from "./client.ts";
import { type InstalledProgram, installPerfAnalyzer } from "./install.ts";

interface Measurement {
  readonly name: string;
  readonly args: readonly string[];
  /** Rows in the report: one for each load level. */
  readonly levels: number;
}

const JSON_TENSORS = ["--input-tensor-format", "json", "--output-tensor-format", "json"];

const MEASUREMENTS: readonly Measurement[] = [
  {
    name: "binary, two rows a request, concurrency 1 to 4",
    args: ["-m", "mlp", "-b", "2", "--concurrency-range", "1:4"],
    levels: 4,
  },
  {
    name: "JSON, eight rows a request, concurrency 1 and 4",
    args: ["-m", "mlp", "-b", "8", "--concurrency-range", "1:4:3", ...JSON_TENSORS],
    levels: 2,
  },
  {
    name: "asynchronous, at a rate, a named version",
    args: ["-m", "versions", "-x", "1", "--shape", "x:3,4", "-a", "--request-rate-range", "50"],
    levels: 1,
  },
  {
    name: "two inputs with free dimensions",
    args: ["-m", "add", "--shape", "a:2,4", "--shape", "b:2,4", "--concurrency-range", "2"],
    levels: 1,
  },
  {
    name: "sequences of 5 requests, 3 at a time",
    args: ["-m", "total", "--sequence-length", "5", "--concurrency-range", "3"],
    levels: 1,
  },
  {
    name: "strings",
    args: ["-m", "BYTES", "--shape", "x:5", "--string-length", "20", "--concurrency-range", "2"],
    levels: 1,
  },
  {
    // One string: whatever the shape, it writes no more.
    name: "a string in JSON",
    args: ["-m", "BYTES", "--shape", "x:1", "--concurrency-range", "2", ...JSON_TENSORS],
    levels: 1,
  },
];

/** Columns of the report that come from the server's own statistics. */
const SERVER_COLUMNS = [
  "Server Queue",
  "Server Compute Input",
  "Server Compute Infer",
  "Server Compute Output",
];

const COMPLAINT = /\b(error|errors|failed|unable|warning)\b/i;
/** Without a GPU there are no metrics of one, in Triton neither. */
const NO_GPU = /^WARNING: Unable to parse 'nv_gpu_\w+' metric\.$/;

/** Runs every measurement, the first also with the server's metrics. */
export async function* perfAnalyzerChecks(setting: ClientSetting): AsyncGenerator<CheckResult> {
  const analyzer = await installPerfAnalyzer(setting);
  for (const { name, args, levels } of MEASUREMENTS) {
    setting.progress(`Measuring with perf_analyzer: ${name}`);
    yield await check(name, () => measure(analyzer, setting.address, args, levels));
  }
  setting.progress("Measuring with perf_analyzer: metrics");
  const metrics = ["--collect-metrics", "--metrics-url", `${setting.address}/metrics`];
  const [{ args, levels }] = MEASUREMENTS;
  yield await check(
    "metrics of the server",
    () => measure(analyzer, setting.address, [...args, ...metrics], levels),
  );
}

async function measure(
  { command, env }: InstalledProgram,
  address: string,
  args: readonly string[],
  levels: number,
): Promise<void> {
  await using folder = await temporaryFolder();
  const report = join(folder.path, "report.csv");
  const { code, text } = await program(command, [
    ...["-u", address, "-i", "http", "-f", report, "--verbose-csv"],
    // It takes three windows for stable, however much they differ, unless it fell behind its rate.
    ...["--measurement-mode", "count_windows", "--measurement-request-count", "20"],
    ...["--stability-percentage", "999", "--max-trials", "20"],
    ...args,
  ], { env });
  assert.equal(code, 0, text);
  const complaints = text.split("\n").filter((line) => COMPLAINT.test(line) && !NO_GPU.test(line));
  assert.deepEqual(complaints, []);

  const rows = parseReport(await Deno.readTextFile(report));
  assert.equal(rows.length, levels, `rows of the report; perf_analyzer said: ${text}`);
  for (const row of rows) {
    assert.ok(Number(row.get("Inferences/Second")) > 0, "it counts no inferences");
    for (const column of SERVER_COLUMNS) {
      assert.match(row.get(column) ?? "", /^\d+$/, `"${column}" of the report`);
    }
  }
  const successes = Array.from(
    text.matchAll(/Successful request count: (\d+)/g),
    ([, count]) => Number(count),
  );
  assert.equal(successes.length, levels, `levels with the server's statistics; it said: ${text}`);
  assert.ok(successes.every((count) => count > 0), "the server's statistics count no success");
}

/** A CSV file without quotes: cells by column. */
function parseReport(text: string): Map<string, string>[] {
  const [header, ...rows] = text.trim().split("\n").map((line) => line.split(","));
  return rows.map((cells) => new Map(cells.map((cell, index) => [header[index], cell])));
}
