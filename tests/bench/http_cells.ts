/**
 * What is measured over HTTP, and the goals: Sluice against the plain servers of the same run.
 *
 * @module
 */
import type { Form } from "./models.ts";
import type { ServerName } from "./servers.ts";

/** Figures of a run that a goal may be about. */
export type GoalFigure = "perSecond" | "p99Millis" | "serverCpu";

/** A bound on the ratio between Sluice and a plain server. */
export interface Goal {
  /** What is compared. */
  readonly figure: GoalFigure;
  /** The plain server. */
  readonly against: ServerName;
  /** Which side of `ratio` is good. */
  readonly bound: "at least" | "at most";
  /** Sluice's figure over the plain server's. */
  readonly ratio: number;
}

/** One model, one form of request, one number of connections. */
export interface HttpCell {
  /** `model/form/connections`, what `--only` names. */
  readonly name: string;
  /** Name of the model. */
  readonly model: string;
  /** Form of the request. */
  readonly form: Form;
  /** Requests in flight. */
  readonly connections: number;
  /** None where the cell is only to be read. */
  readonly goals: readonly Goal[];
}

const throughput = (against: ServerName, ratio: number): Goal => (
  { figure: "perSecond", against, bound: "at least", ratio }
);
const atMost = (figure: GoalFigure, against: ServerName): Goal => (
  { figure, against, bound: "at most", ratio: 1 }
);

const SMALL = [throughput("fastify", 1), throughput("deno", 1)];
const MLP = [throughput("deno", 1.3)];

/** Every cell. Those without a goal are there to be read. */
export const HTTP_CELLS: readonly HttpCell[] = [
  cell("peer_small", "json", 1),
  cell("peer_small", "json", 8, SMALL),
  cell("peer_small", "json", 32, SMALL),
  cell("peer_small", "binary", 1),
  cell("peer_small", "binary", 8, SMALL),
  cell("peer_small", "binary", 32, SMALL),
  cell("peer_mlp", "json", 1),
  cell("peer_mlp", "json", 8),
  cell("peer_mlp", "json", 32, MLP),
  cell("peer_mlp", "binary", 1),
  cell("peer_mlp", "binary", 8),
  cell("peer_mlp", "binary", 32, MLP),
  cell("peer_cnn", "binary", 1, [throughput("deno", 0.98)]),
  cell("peer_cnn", "binary", 8, [throughput("deno", 0.98), atMost("p99Millis", "deno")]),
  cell("peer_wide", "json", 8),
  cell("peer_wide", "binary", 1),
  cell("peer_wide", "binary", 8, [atMost("serverCpu", "deno")]),
];

function cell(
  model: string,
  form: Form,
  connections: number,
  goals: readonly Goal[] = [],
): HttpCell {
  return { name: `${model}/${form}/${connections}`, model, form, connections, goals };
}
