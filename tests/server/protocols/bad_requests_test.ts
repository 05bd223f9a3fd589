import assert from "node:assert/strict";
import type { Datatype } from "../../../models/tensor.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const model = (datatype: Datatype) =>
  fakeModel(
    datatype,
    [{ name: "x", datatype, shape: [-1] }],
    [{ name: "y", datatype, shape: [-1] }],
  );
const engine = fakeEngine([
  ...([
    "FP32",
    "FP16",
    "BF16",
    "FP64",
    "INT8",
    "INT32",
    "INT64",
    "UINT64",
    "BOOL",
    "BYTES",
  ] as const)
    .map(model),
  fakeModel("pair", [
    { name: "x", datatype: "FP32", shape: [-1] },
    { name: "z", datatype: "FP32", shape: [-1] },
  ], [{ name: "y", datatype: "FP32", shape: [-1] }]),
  fakeModel("words", [
    { name: "x", datatype: "BYTES", shape: [-1] },
    { name: "z", datatype: "BYTES", shape: [-1] },
  ], []),
  fakeModel("square", [{ name: "x", datatype: "FP32", shape: [-1, -1] }], []),
  {
    ...model("FP32"),
    name: "maps",
    signature: {
      inputs: [{ name: "x", datatype: "FP32", shape: [-1] }],
      outputs: [{ name: "y", datatype: "FP32", shape: [-1] }],
      notServed: ["probabilities"],
    },
  },
]);
const app = testApp({ engine });

const input = (datatype: string, data: unknown, shape: unknown = [2]) => ({
  inputs: [{ name: "x", datatype, shape, data }],
});

/** Data of one input with its datatype, and what the message says besides the input's name. */
const DATA: readonly (readonly [Datatype, data: unknown, says: readonly string[]])[] = [
  ["FP32", [1], ["1 elements", "expected 2", "[2]"]],
  ["FP32", [1, 2, 3], ["3 elements", "expected 2"]],
  ["FP32", [[1, 2], [3]], ["3 elements", "expected 2"]],
  ["FP32", [1, "2"], ['the string "2"', "element 1", "a number"]],
  ["FP32", [null, 2], ["null", "element 0"]],
  ["FP32", [true, 2], ["true", "element 0"]],
  ["FP32", [{}, 2], ["an object", "element 0"]],
  ["FP32", 7, ["7", "an array"]],
  ["FP32", { a: 1 }, ["an object", "an array"]],
  ["INT8", [128, 0], ["128", "-128 to 127"]],
  ["INT8", [0, -129], ["-129", "element 1"]],
  ["INT8", [1.5, 0], ["1.5", "an integer"]],
  ["INT32", [2147483648, 0], ["2147483648", "-2147483648 to 2147483647"]],
  ["INT64", [1.5, 0], ["1.5", "an integer"]],
  ["UINT64", [-1, 0], ["-1", "0 to 18446744073709551615"]],
  ["BOOL", [1, 0], ["1", "true or false"]],
  ["BYTES", [1, "a"], ["1", "a string"]],
  ["BYTES", ["\ud800", "a"], ["Unicode"]],
  ["FP16", [1, 2], ["FP16", "binary_data_size"]],
  ["BF16", [1, 2], ["BF16", "binary_data_size"]],
];

for (const [datatype, data, says] of DATA) {
  Deno.test(`infer refuses ${JSON.stringify(data)} as ${datatype} of shape [2]`, async () => {
    const answer = await ask(app, "POST", `/v2/models/${datatype}/infer`, input(datatype, data));
    assert.equal(answer.status, 400);
    const error = errorOf(answer);
    for (const words of ["'x'", ...says]) assert.ok(error.includes(words), `${error}: ${words}`);
  });
}

const x = { name: "x", datatype: "FP32", shape: [1], data: [1] };

/** A body for the model FP32, and a part of the message. */
const BODIES: readonly (readonly [body: string | Record<string, unknown>, says: string])[] = [
  ["", "no body"],
  ["{", "not valid JSON"],
  ['{"inputs":[', "not valid JSON"],
  ["[]", "an array"],
  ["null", "null"],
  ["7", "7"],
  [{}, "'inputs' is missing"],
  [{ inputs: {} }, "'inputs' is an object"],
  [{ inputs: [7] }, "Entry 0 of 'inputs' is 7"],
  [{ inputs: [{ ...x, name: undefined }] }, "'name' of entry 0 of"],
  [{ inputs: [{ ...x, name: 7 }] }, "expected a string"],
  [{ inputs: [{ ...x, datatype: undefined }] }, "'datatype' of input 'x' is missing"],
  [{ inputs: [{ ...x, datatype: "FP31" }] }, '"FP31"'],
  [{ inputs: [{ ...x, datatype: "constructor" }] }, '"constructor"'],
  [{ inputs: [{ ...x, shape: undefined }] }, "'shape' of input 'x' is missing"],
  [{ inputs: [{ ...x, shape: "1" }] }, "'shape' of input 'x'"],
  [{ inputs: [{ ...x, shape: [-1] }] }, "is -1, expected a whole number"],
  [{ inputs: [{ ...x, shape: [1.5] }] }, "is 1.5, expected a whole number"],
  [{ inputs: [{ ...x, shape: ["1"] }] }, "A dimension in the 'shape' of input 'x'"],
  [{ inputs: [{ ...x, shape: [1e300] }] }, "A dimension in the 'shape' of input 'x'"],
  [{ inputs: [{ ...x, shape: [2 ** 30, 2 ** 30] }] }, "overflows"],
  [{ inputs: [{ ...x, shape: new Array(40).fill(2 ** 52) }] }, "overflows"],
  [{ inputs: [{ ...x, shape: [2 ** 40] }] }, "1 elements"],
  [{ inputs: [{ ...x, data: undefined }] }, "neither"],
  [{ inputs: [{ ...x, parameters: { binary_data_size: 4 } }] }, "both"],
  [{ inputs: [{ ...x, data: undefined, parameters: { binary_data_size: 4 } }] }, "0 are left"],
  [{ inputs: [{ ...x, data: undefined, parameters: { binary_data_size: -4 } }] }, "-4"],
  [{ inputs: [{ ...x, data: undefined, parameters: { binary_data_size: 2 ** 60 } }] }, "expected"],
  [{ inputs: [{ ...x, parameters: 7 }] }, "'parameters' of input 'x'"],
  [{ id: 7, inputs: [x] }, "'id' is 7"],
  [{ parameters: [], inputs: [x] }, "'parameters' is an array"],
  [{ parameters: { a: [] }, inputs: [x] }, "Parameter 'a' is an array"],
  [{ parameters: { a: {} }, inputs: [x] }, "Parameter 'a' is an object"],
  [{ parameters: { a: null }, inputs: [x] }, "Parameter 'a' is null"],
  [{ parameters: { triton_x: 1 }, inputs: [x] }, "'triton_'"],
  [{ parameters: { priority: -1 }, inputs: [x] }, "'priority'"],
  [{ parameters: { priority: "1" }, inputs: [x] }, "'priority'"],
  [{ parameters: { timeout: 1.5 }, inputs: [x] }, "'timeout'"],
  [{ parameters: { binary_data_output: 1 }, inputs: [x] }, "'binary_data_output'"],
  [{ inputs: [x], outputs: {} }, "'outputs' is an object"],
  [{ inputs: [x], outputs: [{}] }, "'name' of entry 0 of"],
  [{ inputs: [x], outputs: [{ name: "nope" }] }, "Unexpected output 'nope'"],
  [{ inputs: [x], outputs: [{ name: "y", parameters: { binary_data: 1 } }] }, "'binary_data'"],
  [{ inputs: [x], outputs: [{ name: "y", parameters: { classification: -1 } }] }, "-1"],
  [{ inputs: [x], outputs: [{ name: "y", parameters: { classification: "3" } }] }, '"3"'],
  [
    '{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1e400]}]}',
    "no larger than 1.8e308",
  ],
  ['{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[NaN,1e400]}]}', "out of range"],
  ['{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[nan]}]}', "not valid JSON"],
  ['{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":["NaN"]}]}', '"NaN"'],
  ['{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[Infinit]}]}', "not valid JSON"],
];

for (const [body, says] of BODIES) {
  const shown = (typeof body === "string" ? body : JSON.stringify(body)).slice(0, 90);
  Deno.test(`infer refuses the body ${shown}`, async () => {
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", body);
    assert.equal(answer.status, 400);
    const error = errorOf(answer);
    assert.ok(error.includes(says), error);
  });
}

Deno.test("infer refuses integers that their datatype would wrap, to the last digit", async () => {
  for (
    const [datatype, digits] of [
      ["INT64", "9223372036854775808"],
      ["INT64", "-9223372036854775809"],
      ["UINT64", "18446744073709551616"],
      ["INT64", "1e18"],
    ]
  ) {
    const body =
      `{"inputs":[{"name":"x","shape":[1],"datatype":"${datatype}","data":[${digits}]}]}`;
    const answer = await ask(app, "POST", `/v2/models/${datatype}/infer`, body);
    assert.equal(answer.status, 400);
    const error = errorOf(answer);
    assert.ok(error.includes(String(digits.includes("e") ? Number(digits) : digits)), error);
    assert.ok(error.includes("written in digits"));
  }
});

Deno.test("infer refuses data nested a million deep, wherever it stands", async () => {
  const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
  const bodies = [
    `{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":${deep}}]}`,
    `{"inputs":[{"name":"x","shape":${deep},"datatype":"FP32","data":[1]}]}`,
    `{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[NaN,${deep}]}]}`,
    `{"inputs":${deep}}`,
    deep,
  ];
  await using roomy = testApp({ engine, maxBodyBytes: 10_000_000 });
  for (const body of bodies) {
    const answer = await ask(roomy, "POST", "/v2/models/FP32/infer", body);
    assert.equal(answer.status, 400);
    errorOf(answer);
  }
});

Deno.test("infer refuses JSON that is not UTF-8, and takes a replacement character", async () => {
  const text = (value: string) =>
    new TextEncoder().encode(
      `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","data":["${value}"]}]}`,
    );
  const broken = text("~");
  broken[broken.indexOf(0x7e)] = 0xff;
  const refused = await ask(app, "POST", "/v2/models/BYTES/infer", broken);
  assert.equal(refused.status, 400);
  assert.ok(errorOf(refused).includes("UTF-8"));
  assert.equal((await ask(app, "POST", "/v2/models/BYTES/infer", text("\uFFFD"))).status, 200);
});

const blob = (bytes: number) => new Uint8Array(bytes);
const binary = (size: number, datatype = "FP32", shape = [1]) => ({
  inputs: [{ name: "x", datatype, shape, parameters: { binary_data_size: size } }],
});

/** Binary bodies that are not what they say, and a part of the message. */
const BINARY: readonly (readonly [
  Record<string, unknown>,
  Uint8Array<ArrayBuffer>,
  string,
])[] = [
  [binary(4), blob(3), "3 are left"],
  [binary(4), blob(5), "5 bytes after its JSON, expected 4"],
  [binary(8), blob(8), "8 bytes of binary data, expected 4"],
  [binary(3), blob(3), "3 bytes of binary data, expected 4"],
  [binary(4, "BYTES"), new Uint8Array([9, 0, 0, 0]), "do not add up"],
  [binary(3, "BYTES"), blob(3), "do not add up"],
  [binary(8, "BYTES"), blob(8), "2 elements of BYTES, expected 1"],
  [binary(4, "BYTES"), new Uint8Array([255, 255, 255, 255]), "do not add up"],
];

for (const [json, bytes, says] of BINARY) {
  Deno.test(`infer refuses ${bytes.length} bytes for ${JSON.stringify(json)}`, async () => {
    const { body, headers } = binaryBody(json, bytes);
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", body, headers);
    assert.equal(answer.status, 400);
    const error = errorOf(answer);
    assert.ok(error.includes(says), error);
  });
}

Deno.test("infer refuses a length header that is no length of this body", async () => {
  const body = JSON.stringify({ inputs: [x] });
  for (
    const length of ["abc", "-1", "1.5", "", "1e2", "99999999999999999999", `${body.length + 1}`]
  ) {
    const headers = { "inference-header-content-length": length };
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", body, headers);
    assert.equal(answer.status, 400, length);
    assert.ok(errorOf(answer).includes(`'${length}'`));
  }
  const cut = { "inference-header-content-length": String(body.length - 1) };
  const answer = await ask(app, "POST", "/v2/models/FP32/infer", body, cut);
  assert.equal(answer.status, 400);
  assert.ok(errorOf(answer).includes("not valid JSON"));
});

Deno.test("infer refuses raw bodies that cannot be the model's only input", async () => {
  const raw = { "inference-header-content-length": "0" };
  for (
    const [name, bytes, says] of [
      ["FP32", 5, "5 bytes"],
      ["pair", 4, "2"],
      ["square", 4, "one free dimension"],
    ] as const
  ) {
    const answer = await ask(app, "POST", `/v2/models/${name}/infer`, blob(bytes), raw);
    assert.equal(answer.status, 400);
    const error = errorOf(answer);
    assert.ok(error.includes(says), error);
  }
});

Deno.test("infer refuses an output that is no tensor, by name", async () => {
  const answer = await ask(app, "POST", "/v2/models/maps/infer", {
    inputs: [x],
    outputs: [{ name: "probabilities" }],
  });
  assert.equal(answer.status, 400);
  assert.ok(errorOf(answer).includes("is no tensor"));
});

Deno.test("infer refuses half precision as JSON before anything runs", async () => {
  for (const datatype of ["FP16", "BF16"]) {
    const submitted = engine.submitted.length;
    const { body, headers } = binaryBody(binary(2, datatype), blob(2));
    const answer = await ask(app, "POST", `/v2/models/${datatype}/infer`, body, headers);
    assert.equal(answer.status, 400);
    assert.ok(errorOf(answer).includes("binary_data"));
    assert.equal(engine.submitted.length, submitted);
  }
});

Deno.test("infer refuses BYTES that are no text as JSON", async () => {
  const element = new Uint8Array([1, 0, 0, 0, 0xff]);
  const { body, headers } = binaryBody(binary(5, "BYTES"), element);
  const answer = await ask(app, "POST", "/v2/models/BYTES/infer", body, headers);
  assert.equal(answer.status, 400);
  assert.ok(errorOf(answer).includes("no UTF-8 text"));
});

Deno.test("infer answers 501 to shared memory", async () => {
  const region = { shared_memory_region: "r", shared_memory_byte_size: 4 };
  for (
    const body of [
      { inputs: [{ ...x, data: undefined, parameters: region }] },
      { inputs: [x], outputs: [{ name: "y", parameters: region }] },
    ]
  ) {
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", body);
    assert.equal(answer.status, 501);
    errorOf(answer);
  }
});

Deno.test("infer refuses a body over the limit, declared or not", async () => {
  const limited = testApp({ engine, maxBodyBytes: 1000 });
  let pulled = 0;
  const stream = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        pulled++;
        controller.enqueue(blob(600));
      },
    }, { highWaterMark: 0 });
  const declared = await ask(limited, "POST", "/v2/models/FP32/infer", stream(), {
    "content-length": "1001",
  });
  assert.equal(declared.status, 413);
  assert.ok(errorOf(declared).includes("at most 1000 bytes"));
  assert.equal(pulled, 0);
  const chunked = await ask(limited, "POST", "/v2/models/FP32/infer", stream());
  assert.equal(chunked.status, 413);
  assert.equal(pulled, 2);
});

Deno.test("infer repeats no more of a request in its refusal than helps", async () => {
  const long = "x".repeat(100_000);
  const shape = new Array(50_000).fill(1);
  for (const input of [{ ...x, name: long, data: 7 }, { ...x, shape, data: [1, 2] }]) {
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", { inputs: [input] });
    assert.equal(answer.status, 400);
    assert.ok(answer.bytes.byteLength < 3000);
    errorOf(answer);
  }
});

Deno.test("routes that take small JSON objects refuse bodies over 64 KiB", async () => {
  const nothing = JSON.stringify({ unknown: "x".repeat(64 * 1024) });
  for (const path of ["/v2/repository/index", "/v2/repository/models/m/unload", "/v2/policy"]) {
    const answer = await ask(app, "POST", path, nothing);
    assert.equal(answer.status, 413, path);
    assert.ok(errorOf(answer).includes("at most 65536 bytes"));
  }
});

Deno.test("infer refuses more elements of BYTES in all inputs together than are handed over in a moment", async () => {
  await using roomy = testApp({ engine, maxBodyBytes: 10_000_000 });
  const send = (count: number, element: readonly number[]) => {
    const data = new Uint8Array(count * element.length);
    for (let at = 0; at < data.length; at += element.length) data.set(element, at);
    const inputs = [["x", Math.floor(count / 2)], ["z", Math.ceil(count / 2)]] as const;
    const json = {
      inputs: inputs.map(([name, count]) => ({
        name,
        shape: [count],
        datatype: "BYTES",
        parameters: { binary_data_size: count * element.length },
      })),
    };
    const { body, headers } = binaryBody(json, data);
    return ask(roomy, "POST", "/v2/models/words/infer", body, headers);
  };
  const cases = [
    [[0, 0, 0, 0], 2 ** 19, "524289 elements"],
    [[1, 0, 0, 0, 0x61], 2 ** 19, "524289 elements"],
    [[1, 0, 0, 0, 0], 2 ** 15, "32769 elements of BYTES that hold NUL"],
    [[2, 0, 0, 0, 0x61, 0], 2 ** 15, "32769 elements of BYTES that hold NUL"],
  ] as const;
  for (const [element, limit, given] of cases) {
    assert.notEqual((await send(limit, element)).status, 413, given);
    const answer = await send(limit + 1, element);
    assert.equal(answer.status, 413, given);
    for (const part of [given, `at most ${limit}`]) {
      assert.ok(errorOf(answer).includes(part), errorOf(answer));
    }
  }
});

Deno.test("infer names an unknown input and the model's before it looks at the input's data", async () => {
  const wrong = { name: "y", datatype: "FP32", shape: [3], data: [1] };
  const large = JSON.stringify({ inputs: [{ ...wrong, data: new Array(80_000).fill(1) }] });
  for (const body of [{ inputs: [wrong] }, { inputs: [{ name: "y" }] }, large]) {
    const answer = await ask(app, "POST", "/v2/models/pair/infer", body);
    assert.equal(answer.status, 400);
    assert.equal(
      errorOf(answer),
      "unexpected inference input 'y' for model 'pair'; it has 'x', 'z'",
    );
  }
});

Deno.test("infer names the header that a binary body lacks", async () => {
  for (const bytes of [blob(4), new Uint8Array([0, 0, 0x80, 0xff])]) {
    const { body } = binaryBody(binary(4), bytes);
    const answer = await ask(app, "POST", "/v2/models/FP32/infer", body);
    assert.equal(answer.status, 400);
    assert.match(errorOf(answer), /the header Inference-Header-Content-Length gives its length$/);
  }
});
