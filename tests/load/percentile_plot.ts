/**
 * Latencies by percentile.
 *
 * @module
 */
import { linePlot } from "./plot.ts";

/** Percentiles and milliseconds, ascending. */
export type Curve = readonly (readonly [percent: number, millis: number])[];

const PERCENTILES = [0, 50, 90, 99, 99.9, 99.99, 99.999];

/** One or two lines of such a plot, in one colour. */
export interface CurveSeries {
  /** For the legend. */
  readonly name: string;
  /** None where nothing was measured. */
  readonly curve?: Curve;
  /** To compare with it, dashed. */
  readonly dashed?: Curve;
}

/** On an axis on which 90, 99 and 99.9 are equally far apart: the tail is what matters. */
export function percentilePlot(title: string, series: readonly CurveSeries[]): string {
  const place = (percent: number) => -Math.log10(1 - percent / 100);
  const points = (curve: Curve = []) =>
    curve.map(([percent, millis]) => [place(percent), millis] as const);
  const percents = series.flatMap(({ curve = [], dashed = [] }) =>
    [...curve, ...dashed].map(([percent]) => percent)
  );
  const last = Math.max(50, ...percents);
  return linePlot(
    {
      title,
      x: "percentile",
      y: "ms",
      ticks: PERCENTILES.filter((percent) => percent <= last)
        .map((percent) => [place(percent), `${percent}`] as const),
    },
    series.map(({ name, curve, dashed }) => (
      { name, points: points(curve), dashed: points(dashed) }
    )),
  );
}
