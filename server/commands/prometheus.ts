/**
 * Reading metrics in Prometheus' text format, as far as the gateway's own go.
 *
 * @module
 */

/** One sample. */
export interface Sample {
  /** Values by label. */
  readonly labels: Readonly<Record<string, string>>;
  /** The value; may be infinite or NaN. */
  readonly value: number;
}

/** All samples by the metric's name; a histogram's buckets are at `<name>_bucket`. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads an exposition; what is no sample is passed over. */
export function parseMetrics(text: string): Samples {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const list = samples.get(name) ?? [];
    samples.set(name, list);
    list.push({ labels: parseLabels(labels), value: parseValue(value) });
  }
  return samples;
}

/**
 * A quantile of a histogram, interpolated inside its bucket as Prometheus' `histogram_quantile` does.
 *
 * @param buckets Cumulative counts, each with the label `le`.
 * @returns In the histogram's unit; undefined when nothing was counted.
 */
export function quantile(buckets: readonly Sample[], share: number): number | undefined {
  const sorted = buckets
    .map(({ labels, value }) => ({ bound: parseValue(labels.le), count: value }))
    .sort((a, b) => a.bound - b.bound);
  const rank = share * (sorted.at(-1)?.count ?? 0);
  if (rank === 0) return undefined;
  let lower = { bound: 0, count: 0 };
  for (const bucket of sorted) {
    if (bucket.count >= rank) {
      if (bucket.bound === Infinity) return lower.bound;
      const within = (rank - lower.count) / (bucket.count - lower.count);
      return lower.bound + (bucket.bound - lower.bound) * within;
    }
    lower = bucket;
  }
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(LABEL)) {
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
  }
  return labels;
}

function parseValue(text: string): number {
  return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
}
