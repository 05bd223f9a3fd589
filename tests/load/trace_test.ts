import assert from "node:assert/strict";
import { SluiceError } from "../../models/errors.ts";
import { parseTrace } from "./trace.ts";

Deno.test("parseTrace() reads times, models, comments and empty lines", () => {
  assert.deepEqual(parseTrace("# seconds,model\n0\n\n0.5, b # late\r\n0.5,a\n", "t", ["a", "b"]), [
    { seconds: 0, model: undefined },
    { seconds: 0.5, model: "b" },
    { seconds: 0.5, model: "a" },
  ]);
});

for (
  const [text, message] of [
    ["0\nsoon", 't, line 2: the time is "soon"; expected a number of seconds, 0 or more'],
    ["-1", 't, line 1: the time is "-1"; expected a number of seconds, 0 or more'],
    [",a", 't, line 1: the time is ""; expected a number of seconds, 0 or more'],
    ["1\n#\n0.5", "t, line 3: the time 0.5 is before 1; expected ascending times"],
    ["0,digit", 't, line 1: the scenario has no model "digit"; did you mean "digits"?'],
    [
      "0,digits,1",
      't, line 1: "0,digits,1" has more than two fields; expected `seconds` or ' +
      "`seconds,model`",
    ],
    ["# nothing", "t has no requests; expected lines `seconds` or `seconds,model`"],
  ]
) {
  Deno.test(`parseTrace() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseTrace(text, "t", ["digits"]),
      (error) => error instanceof SluiceError && error.message === message,
    );
  });
}
