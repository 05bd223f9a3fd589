/**
 * A model's inputs and outputs, and whether its requests may share an iteration, for people.
 *
 * @module
 */
import type { BatchingRule, ModelSignature, SequenceRule } from "../../models/model.ts";
import type { TensorSpec } from "../../models/tensor.ts";
import { formatTable, printable } from "./table.ts";

/** A cache has a pair or two for each layer. */
const SHOWN_PAIRS = 4;

const COLUMNS = [{ head: "" }, { head: "NAME" }, { head: "DATATYPE" }, { head: "SHAPE" }];

/** A table of the inputs and outputs; free dimensions by their names where they have any. */
export function formatSignature({ inputs, outputs, notServed }: ModelSignature): string {
  const row = (kind: string) => (spec: TensorSpec) => [
    spec.optional ? `${kind} (optional)` : kind,
    spec.name,
    spec.datatype,
    `[${spec.shape.map((dim, axis) => dimension(dim, spec.dimNames?.[axis])).join(", ")}]`,
  ];
  return formatTable(COLUMNS, [
    ...inputs.map(row("input")),
    ...outputs.map(row("output")),
    ...notServed.map((name) => ["output", name, "no tensor", "not served"]),
  ]);
}

/** Whether requests, or sequences, are joined, and why, or why not, in a line. */
export function joining(
  { join, maxRows, reason, probe }: Pick<BatchingRule, "join" | "maxRows" | "reason" | "probe">,
  what: "requests" | "sequences" = "requests",
): string {
  if (probe) return `whether ${what} may be joined is found out when it is first loaded`;
  return join
    ? `${what} are joined, up to ${maxRows} rows: ${printable(reason)}`
    : `${what} are not joined: ${printable(reason)}`;
}

/** What carries over in a model's sequences, in a line. */
export function carrying({ carry, required }: SequenceRule): string {
  const pairs = carry.slice(0, SHOWN_PAIRS).map(({ output, input }) =>
    `${printable(output)} to ${printable(input)}`
  );
  const more = carry.length > SHOWN_PAIRS ? ` and ${carry.length - SHOWN_PAIRS} more` : "";
  return `it runs in sequences${required ? " only" : ""}: ${pairs.join(", ")}${more}`;
}

function dimension(dim: number, name: string | undefined): string {
  return dim >= 0 ? `${dim}` : name ?? "?";
}
