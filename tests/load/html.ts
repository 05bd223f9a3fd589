/**
 * A report as one page that needs nothing else: no script, no font, no request.
 *
 * @module
 */
import { type Curve, percentilePlot } from "./percentile_plot.ts";
import { barPlot, escapeHtml, linePlot, PLOT_STYLE } from "./plot.ts";
import type { ModelReport, Report } from "./report.ts";
import { reportTable } from "./table.ts";

const STYLE = `
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
h1 { font-size: 1.3rem }
pre { overflow-x: auto; font-size: 12px }
svg { width: 100%; margin: 1rem 0 }
${PLOT_STYLE}
.invalid { background: #dc2626; color: #fff; padding: 0.5rem 1rem }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } }
`;

/** The whole page. */
export function reportHtml(report: Report): string {
  const { models, scenario, startedAt, verdict, partial } = report;
  const title = `Load on ${scenario.url}, ${startedAt}`;
  const warnings = [
    ...verdict.reasons.map((reason) => `INVALID: ${reason}`),
    ...(partial ? ["INTERRUPTED: these are figures of a part of the run"] : []),
  ];
  const curve = (title: string, of: (model: ModelReport) => Curve | undefined) =>
    models.some(of)
      ? [percentilePlot(title, models.map((model) => ({ name: model.name, curve: of(model) })))]
      : [];
  const plots = [
    ...curve("Latency by percentile, from intended send", ({ curve }) => curve),
    ...curve("Time to first token, from intended send", ({ tokens }) => tokens?.ttftCurve),
    ...curve("Time between tokens", ({ tokens }) => tokens?.tbtCurve),
    timePlot(models),
    barPlot(
      "Requests per second by model",
      "1/s",
      models.map(({ name, rate, goodput }) => ({ name, whole: rate, part: goodput })),
      ["sent", "goodput"],
    ),
  ];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<h1>${escapeHtml(title)}</h1>
${warnings.map((warning) => `<p class="invalid">${escapeHtml(warning)}</p>`).join("\n")}
<pre>${escapeHtml(reportTable(report))}</pre>
${plots.join("\n")}
<details><summary>Scenario</summary><pre>${
    escapeHtml(JSON.stringify(scenario, null, 2))
  }</pre></details>
</html>
`;
}

function timePlot(models: readonly ModelReport[]): string {
  const last = Math.max(0, ...models.map(({ intervals }) => intervals.at(-1)?.fromSeconds ?? 0));
  return linePlot(
    {
      title: "Latency over time, from intended send: p99, and p50 dashed",
      x: "seconds",
      y: "ms",
      ticks: [0, 0.25, 0.5, 0.75, 1].map((part) =>
        [part * last, (part * last).toFixed(1)] as const
      ),
    },
    models.map(({ name, intervals }) => ({
      name,
      points: intervals.map(({ fromSeconds, p99 }) => [fromSeconds, p99] as const),
      dashed: intervals.map(({ fromSeconds, p50 }) => [fromSeconds, p50] as const),
    })),
  );
}
