import assert from "node:assert/strict";
import { comparison } from "./compare.ts";
import { reportCsv } from "./csv.ts";
import { reportHtml } from "./html.ts";
import { madeUpReport } from "./made_up_report.ts";
import { formatFigure } from "./metrics.ts";
import { reportTable } from "./table.ts";

const REPORT = madeUpReport([
  { name: "fast", outcomes: ["ok", "ok", "queue_full"], millis: 10 },
  { name: 'a,"b"<i>', outcomes: ["ok"], millis: 40, lagMillis: 20 },
], { partial: true });

Deno.test("reportTable() shows figures, errors, the interruption and the verdict", () => {
  const lines = reportTable(REPORT).split("\n");
  const cells = (start: RegExp) => lines.find((line) => start.test(line))!.split(/ {2,}/);
  assert.deepEqual(cells(/^fast +3/).slice(0, 7), [
    "fast",
    "3",
    "2",
    "0.300",
    "0.200",
    "66.7%",
    "50ms",
  ]);
  assert.deepEqual(cells(/^fast +from actual/).slice(3, 5), ["10", "10"]);
  assert.deepEqual(cells(/^fast +queue_full/), ["fast", "queue_full", "1"]);
  assert.ok(lines.some((line) => line.includes("INTERRUPTED: this is a part of the run")));
  assert.match(lines.at(-2)!, /^INVALID: a,"b"<i>: the generator sent late, by 20\.0 ms at p99/);
});

Deno.test("reportCsv() has a line for each model, quoted where needed", () => {
  const [head, first, second, end] = reportCsv(REPORT).split("\r\n");
  const column = head.split(",").indexOf("goodput");
  assert.equal(first.split(",")[column], "0.2");
  assert.ok(second.startsWith('"a,""b""<i>",false,true,1,1,'));
  assert.equal(end, "");
});

Deno.test("reportHtml() is one page with three plots and no other resource", () => {
  const html = reportHtml(REPORT);
  assert.equal(html.match(/<svg /g)?.length, 3);
  assert.doesNotMatch(html, /<script|<link|<img|src=|@import|url\(/);
  assert.doesNotMatch(html, /<i>/);
  assert.doesNotMatch(html, /NaN|Infinity|undefined/);
  assert.match(html, /INVALID: a/);
});

Deno.test("reportHtml() draws a run in which nothing was answered", () => {
  const html = reportHtml(madeUpReport([{ name: "a", outcomes: [], millis: 0 }]));
  assert.equal(html.match(/<svg /g)?.length, 3);
  assert.doesNotMatch(html, /NaN|Infinity|undefined/);
});

const TEXT = madeUpReport([
  { name: "text", outcomes: ["ok", "ok"], millis: 40, tokensAtMillis: [10, 15, 40] },
  { name: "plain", outcomes: ["ok"], millis: 5 },
]);

Deno.test("reportTable() has a table of tokens and their latencies, of text alone", () => {
  const lines = reportTable(TEXT).split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(lines.find(([, tokens]) => tokens === "6"), [
    ...["text", "6", "0.600", "3", "15ms", "-"],
  ]);
  const p50 = (of: string) => lines.filter((cells) => cells[1] === of).map((cells) => cells[3]);
  assert.deepEqual(p50("first token, from intended"), ["10"]);
  assert.deepEqual(p50("between tokens"), ["5.00"]);
  assert.doesNotMatch(reportTable(REPORT), /token/i);
});

Deno.test("reportHtml() has plots of the first token and of the gaps where there is text", () => {
  const html = reportHtml(TEXT);
  assert.equal(html.match(/<svg /g)?.length, 5);
  assert.match(html, /Time to first token, from intended send/);
  assert.doesNotMatch(html, /NaN|Infinity|undefined/);
});

Deno.test("reportCsv() leaves empty what a model has no tokens for", () => {
  const [head, text, plain] = reportCsv(TEXT).split("\r\n").map((line) => line.split(","));
  const column = head.indexOf("tbt_max");
  assert.deepEqual([text[column], plain[column]], ["25", ""]);
});

Deno.test("comparison() has the figures of text", () => {
  const row = comparison(TEXT, TEXT).split("\n").find((line) => line.includes(" tbt_p99 "));
  assert.match(row!, /^text +tbt_p99 +25 +25 +0\.0%$/);
});

Deno.test("comparison() says what is better and what worse", () => {
  const after = madeUpReport([{ name: "fast", outcomes: ["ok", "ok", "ok"], millis: 20 }]);
  const rows = comparison(REPORT, after).split("\n").map((line) => line.split(/ {2,}/));
  const row = (metric: string) => rows.find((cells) => cells[1] === metric)!;
  assert.deepEqual(row("p99"), ["fast", "p99", "10", "20", "+100.0%", "worse"]);
  assert.deepEqual(row("goodput"), ["fast", "goodput", "0.200", "0.300", "+50.0%", "better"]);
  assert.deepEqual(row("lag_p99").slice(0, 5), ["fast", "lag_p99", "0", "0", "0.0%"]);
  assert.equal(rows.some((cells) => cells[0].startsWith("a,")), false);
});

Deno.test("formatFigure() gives as many digits as a figure is worth", () => {
  assert.deepEqual([0, 0.0123, 1.234, 123.45, 12345.6, undefined].map(formatFigure), [
    ...["0", "0.012", "1.23", "123.5", "12346", "-"],
  ]);
});
