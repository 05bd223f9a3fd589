import assert from "node:assert/strict";
import { formatTable, printable } from "../../../server/commands/table.ts";

Deno.test("formatTable() lays columns out without lines or trailing spaces", () => {
  const text = formatTable(
    [{ head: "NAME" }, { head: "BYTES", align: "right" }, { head: "NOTE" }],
    [["digits", "150 KiB", ""], ["a", "1 B", "small"]],
  );
  assert.equal(
    text,
    [
      "NAME      BYTES  NOTE",
      "digits  150 KiB",
      "a           1 B  small",
      "",
    ].join("\n"),
  );
});

Deno.test("printable() shows control characters instead of obeying them", () => {
  assert.equal(printable("a\u001b[31mb\nc\u0085"), "a\\u001b[31mb\\u000ac\\u0085");
  assert.equal(printable("ab\u202edc"), "ab\\u202edc");
  assert.equal(printable("größe/x:0"), "größe/x:0");
  assert.match(formatTable([{ head: "NAME" }], [["two\nlines"]]), /^NAME\ntwo\\u000alines\n$/);
});
