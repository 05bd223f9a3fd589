import assert from "node:assert/strict";
import { SluiceError } from "../../models/errors.ts";
import { seededRandom } from "../../models/random.ts";
import { encodeRequest, fileInputs, randomInputs } from "./payload.ts";

const MODEL = { name: "m", free: 3, shapes: {} };
const X = { name: "x", datatype: "FP32", shape: [-1, 2] };
const ROWS = { ...MODEL, shapes: { x: [3, 2] } };

const fails = (work: () => unknown, message: RegExp) =>
  assert.throws(work, (error) => error instanceof SluiceError && message.test(error.message));

Deno.test("randomInputs() fills free dimensions of a row, the same for the same seed", () => {
  const [first] = randomInputs(MODEL, [X], seededRandom(1));
  assert.deepEqual(first.shape, [1, 2]);
  const free = { ...X, shape: [-1, 2, -1] };
  assert.deepEqual(randomInputs(MODEL, [free], seededRandom(1))[0].shape, [1, 2, 3]);
  assert.deepEqual(randomInputs(MODEL, [X], seededRandom(1)), [first]);
  assert.notDeepEqual(randomInputs(MODEL, [X], seededRandom(2)), [first]);
});

Deno.test("randomInputs() takes exact shapes", () => {
  const [tensor] = randomInputs({ ...MODEL, shapes: { x: [5, 2] } }, [X], seededRandom(1));
  assert.deepEqual(tensor.shape, [5, 2]);
});

Deno.test("randomInputs() says what does not fit", () => {
  const random = seededRandom(1);
  fails(
    () => randomInputs({ ...MODEL, shapes: { y: [1] } }, [X], random),
    /^Model "m": shapes names "y"; expected one of x$/,
  );
  fails(() => randomInputs(MODEL, [{ ...X, datatype: "FP4" }], random), /unknown datatype FP4/);
  fails(() => randomInputs(MODEL, [], random), /metadata has no inputs/);
  fails(
    () => randomInputs({ ...MODEL, free: 1e9 }, [{ ...X, shape: [-1, -1] }], random),
    /^Model "m": input "x" as \[1,1000000000\] has 4000000000 bytes; expected 268435456 or less$/,
  );
});

Deno.test("encodeRequest() makes the binary form, with priority and timeout", () => {
  const inputs = randomInputs(ROWS, [X], seededRandom(1));
  const { headers, body } = encodeRequest(
    inputs,
    { priority: 2, deadlineMs: 1.5, tenant: "t" },
    true,
  );
  const length = Number(headers["inference-header-content-length"]);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(body.subarray(0, length))), {
    inputs: [{ ...X, shape: [3, 2], parameters: { binary_data_size: 24 } }],
    parameters: { priority: 2, timeout: 1500, tenant: "t", binary_data_output: true },
  });
  assert.deepEqual(body.subarray(length), inputs[0].data);
});

Deno.test("encodeRequest() makes JSON for servers without the binary form", () => {
  const [inputs] = fileInputs({ inputs: [{ ...X, shape: [1, 2], data: [[1, 2.5]] }] }, "f");
  const { headers, body } = encodeRequest(inputs, {}, false);
  assert.deepEqual(headers, { "content-type": "application/json" });
  assert.deepEqual(JSON.parse(new TextDecoder().decode(body)), {
    inputs: [{ ...X, shape: [1, 2], data: [1, 2.5] }],
    parameters: {},
  });
});

Deno.test("fileInputs() reads one request or several", () => {
  const request = { inputs: [{ name: "x", datatype: "INT8", shape: [2], data: [1, 2] }] };
  assert.equal(fileInputs(request, "f").length, 1);
  assert.equal(fileInputs([request, request], "f").length, 2);
});

Deno.test("fileInputs() names the request, the tensor and what is wrong", () => {
  fails(() => fileInputs([{ outputs: [] }], "f"), /^f: request 0 has no inputs; expected/);
  fails(
    () => fileInputs({ inputs: [{ name: "x", datatype: "INT8", shape: [3], data: [1] }] }, "f"),
    /^f: request 0, input x has 1 bytes; its datatype and shape need 3$/,
  );
  fails(
    () => fileInputs({ inputs: [{ name: "x", datatype: "INT4", shape: [1], data: [1] }] }, "f"),
    /^f: request 0, input x has datatype INT4/,
  );
});
