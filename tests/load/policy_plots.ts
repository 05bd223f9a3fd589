/**
 * For each policy a load under which it is the right choice, beside fifo: the load harness against
 * whole gateways in virtual time. `deno run -A tests/load/policy_plots.ts` writes the plots of
 * `docs/policies.md`, the same bytes every time.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { VirtualClock } from "../../models/clock.ts";
import { fifo } from "../../policies/fifo.ts";
import { inVirtualTime } from "./fake_server.ts";
import { type Curve, percentilePlot } from "./percentile_plot.ts";
import { barPlot, svgFile } from "./plot.ts";
import type { ModelReport, Report } from "./report.ts";
import { runLoad } from "./run.ts";
import { parseJsonFile, resolveScenario } from "./scenario_schema.ts";
import { openVirtualGateway, type SimulatedModel } from "./virtual_gateway.ts";

/** What was measured of one load. */
export interface Measured {
  /** Under fifo. */
  readonly before: Report;
  /** Under the policy that the load is for. */
  readonly after: Report;
}

/** A policy's load and what shows its worth. */
export interface PolicyPlot {
  /** Which. */
  readonly policy: string;
  /** Of the plot; the policy's where absent. */
  readonly name?: string;
  /** `scenarios/<scenario>.json`; the policy's where absent. */
  readonly scenario?: string;
  /** What the scenario's models take. */
  readonly models: Readonly<Record<string, SimulatedModel>>;
  /** Draws it. */
  plot(measured: Measured, policy: string): string;
}

const WRITER = { writer: { millis: 3, writes: true } } as const;

/** At least one for each policy. */
export const POLICY_PLOTS: readonly PolicyPlot[] = [
  {
    // Against the default.
    policy: "fair",
    name: "fifo",
    scenario: "fifo",
    models: WRITER,
    plot: latencies("Whole texts of 100 tokens each"),
  },
  {
    policy: "round_robin",
    models: { bursts: { millis: 5 }, steady: { millis: 5 } },
    plot: latencies("5 ms each, bursts of 40 and 50 a second"),
  },
  {
    policy: "fair",
    models: { heavy: { millis: 20 }, light: { millis: 1 } },
    plot: latencies("16 clients at 20 ms, 200 requests a second at 1 ms"),
  },
  {
    policy: "priority",
    models: { batch: { millis: 10 }, urgent: { millis: 10 } },
    plot: latencies("10 ms each, 24 clients and 20 urgent requests a second"),
  },
  {
    policy: "srtf",
    models: { short: { millis: 1 }, medium: { millis: 5 }, long: { millis: 50 } },
    plot: latencies("1, 5 and 50 ms at 85 % of capacity", ["short", "long"]),
  },
  {
    policy: "srtf",
    name: "srtf_text",
    scenario: "text",
    models: WRITER,
    plot: latencies("Whole texts of 5 to 200 tokens"),
  },
  {
    policy: "edf",
    models: { tight: { millis: 5 }, loose: { millis: 5 } },
    plot: inTime("5 ms each at 90 % of capacity, deadlines of 25 ms and of 1 s"),
  },
  {
    policy: "las_2d",
    models: { steady: { millis: 10 }, occasional: { millis: 10 } },
    plot: latencies("10 ms each, 16 clients and 4 requests a second"),
  },
  {
    policy: "las_2d",
    name: "las_2d_text",
    scenario: "text",
    models: WRITER,
    plot: firstTokens("The first token of texts of 5 to 200 tokens"),
  },
  {
    policy: "lottery",
    models: { weight_3: { millis: 1, weight: 3 }, weight_1: { millis: 10 } },
    plot: shares("8 clients each, at 1 and at 10 ms", { weight_3: 1, weight_1: 10 }),
  },
];

/** Where the plots are. */
export const PLOTS = new URL("../../docs/plots/", import.meta.url);

/** The plot of a policy, as a file. */
export async function drawPolicy(
  { policy, scenario: name = policy, models, plot }: PolicyPlot,
): Promise<string> {
  const file = fileURLToPath(new URL(`scenarios/${name}.json`, import.meta.url));
  const scenario = resolveScenario(parseJsonFile(await Deno.readTextFile(file), file), file);
  const measure = async (under: string) => {
    const clock = new VirtualClock();
    await using gateway = await openVirtualGateway(clock, under, models);
    const run = runLoad(scenario, false, {
      clock,
      fetch: gateway.fetch,
      readFile: Deno.readTextFile,
      stop: new AbortController().signal,
      watch: () => {},
      phase: () => {},
    });
    return await inVirtualTime(clock, run);
  };
  return svgFile(
    plot({ before: await measure(fifo.name), after: await measure(policy) }, policy),
  );
}

/** Latency by percentile, of some of the models or of all. */
function latencies(load: string, names?: readonly string[]): PolicyPlot["plot"] {
  return curves(load, ({ curve }) => curve, names);
}

/** Time to the first token by percentile. */
function firstTokens(load: string): PolicyPlot["plot"] {
  return curves(load, ({ tokens }) => tokens?.ttftCurve);
}

function curves(
  load: string,
  of: (model: ModelReport) => Curve | undefined,
  names?: readonly string[],
): PolicyPlot["plot"] {
  return ({ before, after }, policy) =>
    percentilePlot(
      `${load}: ${policy}, and ${fifo.name} dashed`,
      after.models.map((model, index) => (
        { name: model.name, curve: of(model), dashed: of(before.models[index]) }
      )).filter(({ name }) => names?.includes(name) ?? true),
    );
}

/** What met its deadline, of all that was sent. */
function inTime(load: string): PolicyPlot["plot"] {
  return (measured, policy) =>
    barPlot(
      load,
      "1/s",
      bars(measured, policy, ({ rate, goodput }) => ({ whole: rate, part: goodput })),
      ["sent", "in time"],
    );
}

/** Parts of the device time. */
function shares(load: string, millis: Readonly<Record<string, number>>): PolicyPlot["plot"] {
  return (measured, policy) =>
    barPlot(
      load,
      "%",
      bars(measured, policy, ({ name, throughput }) => (
        { whole: 100, part: throughput * millis[name] / 10 }
      )),
      ["device time", "of this model"],
    );
}

/** A bar for each model under each policy. */
function bars(
  { before, after }: Measured,
  policy: string,
  of: (model: ModelReport) => { readonly whole: number; readonly part: number },
) {
  return [[fifo.name, before] as const, [policy, after] as const].flatMap(
    ([under, { models }]) =>
      models.map((model) => ({ name: `${model.name}, ${under}`, ...of(model) })),
  );
}

if (import.meta.main) {
  for (const plot of POLICY_PLOTS) {
    const { policy, name = policy } = plot;
    await Deno.writeTextFile(new URL(`${name}.svg`, PLOTS), await drawPolicy(plot));
  }
}
