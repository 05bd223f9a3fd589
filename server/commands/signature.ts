/**
 * A model's inputs and outputs, and whether its requests may share an iteration, for people.
 *
 * @module
 */
import type { BatchingRule, ModelSignature } from "../../models/model.ts";
import type { TensorSpec } from "../../models/tensor.ts";
import { formatTable, printable } from "./table.ts";

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

/** Whether requests are joined, and why, or why not, in a line. */
export function joining(
  { join, maxRows, reason, probe }: Pick<BatchingRule, "join" | "maxRows" | "reason" | "probe">,
): string {
  if (probe) return "whether requests may be joined is found out when it is first loaded";
  return join
    ? `requests are joined, up to ${maxRows} rows: ${printable(reason)}`
    : `requests are not joined: ${printable(reason)}`;
}

function dimension(dim: number, name: string | undefined): string {
  return dim >= 0 ? `${dim}` : name ?? "?";
}
