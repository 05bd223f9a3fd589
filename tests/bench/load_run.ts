/**
 * Loads of several models, sent by the load harness.
 *
 * @module
 */
import { SystemClock } from "../../models/clock.ts";
import type { Report } from "../load/report.ts";
import { runLoad } from "../load/run.ts";
import type { ScenarioInput } from "../load/scenario.ts";
import { resolveScenario } from "../load/scenario_schema.ts";

/** Sends a load from this process; gives what the harness found. */
export function sendLoad(scenario: ScenarioInput): Promise<Report> {
  return runLoad(resolveScenario(scenario, "The benchmark"), false, {
    clock: new SystemClock(),
    fetch,
    readFile: Deno.readTextFile,
    stop: new AbortController().signal,
    watch: () => {},
    phase: () => {},
  });
}

/** For tables: whether the generator kept up, or the first reason why not. */
export function generatorCell({ verdict }: Report): string {
  return verdict.valid ? "VALID" : `INVALID: ${verdict.reasons[0]}`;
}
