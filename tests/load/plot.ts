/**
 * Line and bar plots as SVG, for a page without any other resource.
 *
 * @module
 */
import { formatFigure } from "./metrics.ts";

/** A place in the units of its axes. */
export type Point = readonly [x: number, y: number];

/** One or two lines of a plot, in one colour. */
export interface Series {
  /** For the legend. */
  readonly name: string;
  /** Ascending in x. */
  readonly points: readonly Point[];
  /** A second line, dashed. */
  readonly dashed?: readonly Point[];
}

/** How a line plot is labelled. */
export interface Axes {
  /** Above it. */
  readonly title: string;
  /** What the points go over, with its unit. */
  readonly x: string;
  /** What they show, with its unit. */
  readonly y: string;
  /** Places on the x axis and what stands there. */
  readonly ticks: readonly (readonly [x: number, label: string])[];
}

/** How plots look; text and grid have the colour of the text around them. */
export const PLOT_STYLE = `svg text { font: 11px system-ui, sans-serif; fill: currentColor }
svg .title { font-weight: 600; font-size: 13px }
svg .grid { stroke: currentColor; opacity: 0.15 }`;

const WIDTH = 720, HEIGHT = 300;
const LEFT = 64, RIGHT = 16, TOP = 44, BOTTOM = 44;
const COLOURS = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d"];

/** A plot of lines with a legend. */
export function linePlot(axes: Axes, series: readonly Series[]): string {
  const points = series.flatMap((line) => [...line.points, ...(line.dashed ?? [])]);
  const xs = [...points.map(([x]) => x), ...axes.ticks.map(([x]) => x)];
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const x = (value: number) =>
    LEFT + (WIDTH - LEFT - RIGHT) * (to > from ? (value - from) / (to - from) : 0);
  const { y, grid } = vertical(points.map(([, value]) => value));
  const polyline = (line: readonly Point[], index: number, style: string) =>
    `<polyline fill="none" stroke="${colour(index)}" stroke-width="1.5"${style} points="${
      line.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(" ")
    }"/>`;
  const lines = series.flatMap(({ points, dashed = [] }, index) => [
    polyline(points, index, ""),
    ...(dashed.length > 0 ? [polyline(dashed, index, ' stroke-dasharray="3 3"')] : []),
  ]);
  const ticks = axes.ticks.map(([at, label]) => text(x(at), HEIGHT - BOTTOM + 16, label, "middle"));
  return svg(axes, [...grid, ...ticks, ...lines, ...legend(series.map(({ name }) => name))]);
}

/** A plot of bars, a group for each name: the outer bar of a whole, the inner one of its part. */
export function barPlot(
  title: string,
  unit: string,
  bars: readonly { readonly name: string; readonly whole: number; readonly part: number }[],
  [whole, part]: readonly [whole: string, part: string],
): string {
  const { y, grid } = vertical(bars.map((bar) => bar.whole));
  const step = (WIDTH - LEFT - RIGHT) / Math.max(1, bars.length);
  const bar = (index: number, value: number, fill: string) =>
    `<rect x="${(LEFT + step * (index + 0.25)).toFixed(1)}" y="${y(value).toFixed(1)}" width="${
      (step / 2).toFixed(1)
    }" height="${(y(0) - y(value)).toFixed(1)}" fill="${fill}"/>`;
  const shapes = bars.flatMap(({ name, whole, part }, index) => [
    bar(index, whole, colour(1)),
    bar(index, part, colour(0)),
    text(LEFT + step * (index + 0.5), HEIGHT - BOTTOM + 16, name, "middle"),
  ]);
  return svg({ title, x: "", y: unit }, [...grid, ...shapes, ...legend([part, whole])]);
}

/** A plot as a file of its own, readable on a light page and on a dark one. */
export function svgFile(plot: string): string {
  const style = `svg { color: #222 }\n@media (prefers-color-scheme: dark) { svg { color: #ddd } }`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"`;
  return plot.replace("<svg", head).replace(
    ">",
    `>\n<style>\n${style}\n${PLOT_STYLE}\n</style>\n`,
  ) +
    "\n";
}

/** Text for HTML and SVG. */
export function escapeHtml(given: string): string {
  return given.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The y axis: from 0 to a round number that is no less than the largest value. */
function vertical(values: readonly number[]): { y: (value: number) => number; grid: string[] } {
  const largest = values.reduce((a, b) => Math.max(a, b), 0);
  const step = roundStep(largest / 5);
  const steps = Math.max(1, Math.ceil(largest / step));
  const y = (value: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / step / steps;
  const grid = Array.from({ length: steps + 1 }, (_, n) => {
    const at = y(n * step).toFixed(1);
    return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>` +
      text(LEFT - 6, y(n * step) + 4, formatFigure(n * step), "end");
  });
  return { y, grid };
}

/** The least of 1, 2, 5, 10, ... that is no less. */
function roundStep(least: number): number {
  if (least <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * (1 - 1e-9))!;
}

function legend(names: readonly string[]): string[] {
  const step = (WIDTH - LEFT - RIGHT) / Math.max(4, names.length);
  return names.flatMap((name, index) => [
    `<rect x="${LEFT + index * step}" y="26" width="10" height="10" fill="${colour(index)}"/>`,
    text(LEFT + index * step + 14, 35, name, "start"),
  ]);
}

function svg({ title, x, y }: Pick<Axes, "title" | "x" | "y">, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">` +
    `<text class="title" x="${LEFT}" y="16">${escapeHtml(title)}</text>` +
    text(WIDTH - RIGHT, HEIGHT - 6, x, "end") + text(4, 16, y, "start") +
    parts.join("") + "</svg>";
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end"): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${
    escapeHtml(content)
  }</text>`;
}

function colour(index: number): string {
  return COLOURS[index % COLOURS.length];
}
