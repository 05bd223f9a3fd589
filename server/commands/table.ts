/**
 * Plain tables: columns under headings, no lines.
 *
 * @module
 */
import CliTable from "cli-table3";

/** A column; numbers are best aligned to the right. */
export interface Column {
  /** Its heading. */
  readonly head: string;
  /** Left where absent. */
  readonly align?: "left" | "right";
}

const NO_LINES = Object.fromEntries(
  [
    ...["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left"],
    ...["bottom-right", "left", "left-mid", "mid", "mid-mid", "right", "right-mid"],
  ].map((part) => [part, ""]),
);

/** Lays rows out under their columns; ends with a newline. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const table = new CliTable({
    head: columns.map(({ head }) => head),
    colAligns: columns.map(({ align }) => align ?? "left"),
    chars: { ...NO_LINES, middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => row.map(printable)));
  return table.toString().split("\n").map((line) => line.trimEnd() + "\n").join("");
}

/**
 * Text from elsewhere, made safe for a terminal: control characters, also those that turn the
 * direction of writing, are shown, not obeyed.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (character) => "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}
