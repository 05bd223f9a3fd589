import assert from "node:assert/strict";
import type { BatchingRule } from "../../../models/model.ts";
import { formatSignature, joining } from "../../../server/commands/signature.ts";

Deno.test("formatSignature() shows names of free dimensions, what is optional and what is not served", () => {
  const text = formatSignature({
    inputs: [
      {
        name: "x",
        datatype: "FP32",
        shape: [-1, 3, -1],
        dimNames: ["batch", undefined, undefined],
      },
      { name: "sr", datatype: "INT64", shape: [], optional: true },
    ],
    outputs: [{ name: "label", datatype: "BYTES", shape: [-1] }],
    notServed: ["map"],
  });
  assert.equal(
    text,
    [
      "                  NAME   DATATYPE   SHAPE",
      "input             x      FP32       [batch, 3, ?]",
      "input (optional)  sr     INT64      []",
      "output            label  BYTES      [?]",
      "output            map    no tensor  not served",
      "",
    ].join("\n"),
  );
});

Deno.test("joining() says whether requests are joined, and why", () => {
  const rule: BatchingRule = {
    maxRows: 8,
    join: true,
    reason: "Answers were the same",
    batchedInputs: [true],
    maxDelayMicros: 0,
    probe: false,
  };
  assert.equal(joining(rule), "requests are joined, up to 8 rows: Answers were the same");
  assert.equal(
    joining({ ...rule, join: false, reason: "Time is on axis 0" }),
    "requests are not joined: Time is on axis 0",
  );
  assert.match(joining({ ...rule, probe: true }), /found out when it is first loaded/);
});
