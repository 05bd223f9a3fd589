/**
 * What both servers are asked: the protocol's ordinary requests, and what clients get wrong.
 *
 * @module
 */
import { deflateSync, gzipSync } from "node:zlib";
import type { Datatype } from "../../../../models/tensor.ts";
import type { PlainRequest } from "./http.ts";

const encoder = new TextEncoder();

type Headers = Readonly<Record<string, string>>;

function request(
  name: string,
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Headers = {},
): PlainRequest {
  return {
    name,
    method,
    path,
    headers,
    body: typeof body === "string" ? encoder.encode(body) : body,
  };
}

function get(path: string, headers?: Headers): PlainRequest {
  return request(`GET ${path}`, "GET", path, undefined, headers);
}

/** An inference whose body is JSON, or text that is none. */
function infer(model: string, body: unknown, name?: string, headers?: Headers): PlainRequest {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return request(name ?? `${model} ${text}`, "POST", `/v2/models/${model}/infer`, text, headers);
}

/** An inference with bytes behind its JSON. */
function binary(
  name: string,
  model: string,
  json: unknown,
  blob: ArrayBufferView<ArrayBuffer>,
  headerLength?: string,
): PlainRequest {
  const head = encoder.encode(JSON.stringify(json));
  const body = new Uint8Array(head.length + blob.byteLength);
  body.set(head);
  body.set(new Uint8Array(blob.buffer, blob.byteOffset, blob.byteLength), head.length);
  return request(name, "POST", `/v2/models/${model}/infer`, body, {
    "Inference-Header-Content-Length": headerLength ?? `${head.length}`,
  });
}

/** The request of a model with one input. */
function one(datatype: Datatype, shape: readonly number[], data: unknown, more: object = {}) {
  return { ...more, inputs: [{ name: "x", shape, datatype, data }] };
}

/** The same with the data behind the JSON. */
function oneBinary(datatype: Datatype, shape: readonly number[], size: number, more: object = {}) {
  const parameters = { binary_data_size: size };
  return { ...more, inputs: [{ name: "x", shape, datatype, parameters }] };
}

/** The same as text, for numbers that JavaScript would write differently. */
function written(datatype: Datatype, count: number, data: string): string {
  return `{"inputs":[{"name":"x","shape":[${count}],"datatype":"${datatype}","data":[${data}]}]}`;
}

const PATHS = [
  ...[
    "/v2",
    "/v2/",
    "/v2?a=b",
    "/v2/health/live",
    "/v2/health/ready",
    "/v2/health",
    "/",
    "/nobody",
  ],
  ...["/v2/models", "/v2/models/", "/v2/models/add", "/v2/models/add/", "/v2/models/a%64d"],
  ...["/v2/models/add?a=b", "/v2/models/scores", "/v2/models/nobody", "/v2/models/broken"],
  ...["/v2/models/versions", "/v2/models/versions/versions/1", "/v2/models/versions/versions/01"],
  ...["/v2/models/versions/versions/7", "/v2/models/versions/versions/x"],
  ...["/v2/models/add/ready", "/v2/models/versions/versions/2/ready", "/v2/models/nobody/ready"],
  ...["/v2/models/broken/ready", "/v2/models/versions/versions/7/ready"],
  ...["/v2/models/add/config", "/v2/models/scores/config", "/v2/models/nobody/config"],
  ...["/v2/models/nobody/stats", "/v2/models/add/infer", "/v2/repository/index"],
  ...["/v2/models/add/trace/setting", "/v2/logging", "/v2/systemsharedmemory/status"],
];

const VALUES: { readonly [datatype in Datatype]?: readonly unknown[] } = {
  BOOL: [true, false],
  UINT8: [0, 255],
  UINT16: [0, 65535],
  UINT32: [0, 4294967295],
  INT8: [-128, 127],
  INT16: [-32768, 32767],
  INT32: [-2147483648, 2147483647],
  FP32: [1.5, -2],
  FP64: [0.1, 1e300],
  BYTES: ["a", 'é\u0000"\\/\n\u001f\u007f\u2028😀'],
};

const BINARY_OUT = { parameters: { binary_data_output: true } };
const GOOD = one("FP32", [2], [1, 2]);
const GOOD_BYTES = encoder.encode(JSON.stringify(GOOD));
const TWO = new Float32Array([1, 2]);
const NO_TEXT = new Uint8Array([0, 0, 0, 0, 3, 0, 0, 0, 0xff, 0, 0x41]);
const A = { name: "a", shape: [1, 4], datatype: "FP32", data: [1, 2, 3, 4] };
const B = { ...A, name: "b" };

function adding(name: string, more: object): PlainRequest {
  return infer("add", { inputs: [A, B], ...more }, name);
}

function classes(name: string, parameters: object): PlainRequest {
  const outputs = [{ name: "y", parameters }];
  const rows = [0.25, 1, -3, 2, 9, 9, 7, 8];
  return infer("scores", one("FP32", [2, 4], rows, { outputs }), name);
}

/** All of them. */
export const REQUESTS: readonly PlainRequest[] = [
  ...PATHS.map((path) => get(path)),
  ...["HEAD", "OPTIONS", "PUT", "DELETE", "POST"].map((method) =>
    request(`${method} /v2`, method, "/v2")
  ),
  request("PUT infer", "PUT", "/v2/models/add/infer", "{}"),
  request("index of what is ready", "POST", "/v2/repository/index", '{"ready":true}'),
  request("index by no JSON", "POST", "/v2/repository/index", "{"),
  request("load of an unknown model", "POST", "/v2/repository/models/nobody/load", "{}"),
  request("unload of an unknown model", "POST", "/v2/repository/models/nobody/unload", "{}"),
  request("load of a loaded model", "POST", "/v2/repository/models/add/load", "{}"),
  request(
    "load with a configuration that is no JSON",
    "POST",
    "/v2/repository/models/add/load",
    '{"parameters":{"config":"{"}}',
  ),

  ...(Object.keys(VALUES) as Datatype[]).flatMap((datatype) => [
    infer(datatype, one(datatype, [2], VALUES[datatype])),
    infer(datatype, one(datatype, [2], VALUES[datatype], { id: "7" })),
    infer(datatype, one(datatype, [2], VALUES[datatype], BINARY_OUT)),
    infer(datatype, one(datatype, [0], [])),
    infer(datatype, one(datatype, [0], [], BINARY_OUT)),
  ]),
  infer("INT64", written("INT64", 2, "-9223372036854775808,9007199254740993")),
  infer("UINT64", written("UINT64", 1, "18446744073709551615")),
  infer("FP32", written("FP32", 6, "NaN,Infinity,-Infinity,-0.0,0.1,1e-45")),
  infer("FP32", written("FP32", 6, "3.4028235e38,1e21,1e20,1e-6,1e-7,16777217")),
  infer("FP64", written("FP64", 6, "NaN,-Infinity,-0.0,5e-324,1e21,123456789012345680")),
  infer("FP32", written("FP32", 2, "1e39,-1e39")),
  infer("FP32", one("FP32", [2], [[1], [2]])),
  infer("FP32", one("FP32", [4], [1, [2, 3], 4])),
  binary("FP16 binary", "FP16", oneBinary("FP16", [2], 4, BINARY_OUT), Uint16Array.of(1, 0x7c00)),
  binary("FP16 out as JSON", "FP16", oneBinary("FP16", [2], 4), Uint16Array.of(1, 0x7c00)),
  infer("FP16", one("FP16", [2], [1, 2])),
  binary("BYTES binary", "BYTES", oneBinary("BYTES", [2], 11, BINARY_OUT), NO_TEXT),
  binary("BYTES that are no text as JSON", "BYTES", oneBinary("BYTES", [2], 11), NO_TEXT),
  binary("BYTES too long", "BYTES", oneBinary("BYTES", [2], 11), NO_TEXT.with(4, 9)),
  binary("BOOL of 2", "BOOL", oneBinary("BOOL", [3], 3), Uint8Array.of(0, 1, 2)),

  ...[true, false].flatMap((asked) => {
    const outputs = [{ name: "y", parameters: { binary_data: asked } }];
    const parameters = { binary_data_output: asked };
    const asking = (more: object) => oneBinary("FP32", [2], 8, more);
    return [
      binary(`binary_data ${asked}`, "FP32", asking({ outputs }), TWO),
      binary(`binary_data_output ${asked}`, "FP32", asking({ parameters }), TWO),
      binary(`the same, no outputs`, "FP32", asking({ id: "q", parameters, outputs: [] }), TWO),
      binary(
        `binary_data_output ${asked} with outputs`,
        "FP32",
        asking({ parameters, outputs: [{ name: "y" }] }),
        TWO,
      ),
    ];
  }),
  ...["-1", "9999", "abc", "5"].map((length) =>
    binary(`length header ${length}`, "FP32", GOOD, new Uint8Array(0), length)
  ),
  binary("length header of pure JSON", "FP32", GOOD, new Uint8Array(0)),
  binary("bytes left over", "FP32", GOOD, TWO),
  binary("binary too short", "FP32", oneBinary("FP32", [2], 4), Float32Array.of(1)),
  binary("binary too long", "FP32", oneBinary("FP32", [2], 12), new Float32Array(3)),
  binary("binary missing", "FP32", oneBinary("FP32", [2], 8), new Uint8Array(0)),
  ...[["FP32", 8], ["FP32", 7], ["add", 16], ["scores", 16]].map(([model, size]) =>
    request(
      `raw ${model} of ${size} bytes`,
      "POST",
      `/v2/models/${model}/infer`,
      new Uint8Array(Number(size)),
      { "Inference-Header-Content-Length": "0" },
    )
  ),

  ...["", " ", "{", "[]", "null", "7", "{}", '{"inputs":7}', '{"inputs":[]}', '{"inputs":[7]}'].map(
    (text) => infer("FP32", text),
  ),
  infer("FP32", '{"inputs":[{"name":"x"}]}'),
  infer("FP32", '{"inputs":[{"name":"x","shape":[2],"datatype":"FP32"}]}'),
  infer("FP32", '{"inputs":[{"name":7,"shape":[2],"datatype":"FP32","data":[1,2]}]}'),
  infer("FP32", '{"inputs":[{"name":"x","shape":"2","datatype":"FP32","data":[1,2]}]}'),
  infer("FP32", '{"inputs":[{"name":"x","shape":[2],"datatype":7,"data":[1,2]}]}'),
  infer("FP32", '{"inputs":[{"name":"x","shape":[2],"datatype":"FP31","data":[1,2]}]}'),
  infer("FP32", `${JSON.stringify(GOOD)}x`),
  infer("FP32", `\ufeff${JSON.stringify(GOOD)}`),
  infer("FP32", ` ${JSON.stringify(GOOD)}\n`),
  infer(
    "FP32",
    '{"id":"a","id":"b","inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}]}',
  ),
  ...[[-2], [2.5], [1, 2], []].map((shape) => infer("FP32", one("FP32", shape, [1, 2]))),
  ...[[1], [1, 2, 3], ["1", "2"], [true, false], [null, 1], { a: 1 }].map((data) =>
    infer("FP32", one("FP32", [2], data))
  ),
  infer("FP32", one("FP64", [2], [1, 2])),
  infer("INT32", written("INT32", 2, "1.5,2")),
  infer("INT32", written("INT32", 2, "1.0,2")),
  infer("INT8", written("INT8", 1, "128")),
  infer("UINT8", written("UINT8", 1, "-1")),
  infer("INT64", written("INT64", 1, "9223372036854775808")),
  infer("FP64", written("FP64", 1, "1e400")),
  infer("BOOL", one("BOOL", [2], [1, 0])),
  infer("BYTES", one("BYTES", [2], [1, 2])),

  adding("two inputs", {}),
  infer("add", { inputs: [B, A], outputs: [{ name: "sum" }, { name: "sum" }] }),
  infer("add", { inputs: [A] }),
  infer("add", { id: "me", inputs: [A] }),
  infer("add", { inputs: [A, B, { ...A, name: "c" }] }),
  infer("add", { inputs: [A, B, B] }),
  infer("add", { inputs: [A, { ...B, shape: [4] }] }),
  infer("add", { inputs: [A, { ...B, shape: [1, 3], data: [1, 2, 3] }] }),
  adding("unknown output", { outputs: [{ name: "nobody" }] }),
  adding("outputs 7", { outputs: 7 }),
  adding("id empty", { id: "" }),
  adding("id 7", { id: 7 }),
  adding("unknown key", { unknown: 1 }),
  ...[
    { text: "x", whole: 1, flag: true, real: 0.5 },
    { list: [] },
    { nothing: null },
    { triton_x: 1 },
    { priority: 1 },
    { priority: -1 },
    { timeout: 60_000_000 },
    { timeout: "x" },
    { sequence_id: 5 },
    { binary_data_output: 1 },
  ].map((parameters) => adding(`parameters ${JSON.stringify(parameters)}`, { parameters })),
  adding("binary_data x", { outputs: [{ name: "sum", parameters: { binary_data: "x" } }] }),
  infer("nobody", { inputs: [A] }),
  infer("broken", { inputs: [A, B] }),
  ...["versions", "versions/versions/1", "versions/versions/01", "versions/versions/7"].map((
    model,
  ) => infer(model, one("FP32", [1, 4], [1, 2, 3, 4]))),

  infer("scores", one("FP32", [1, 4], [1, 2, 3, 4])),
  infer("scores", one("FP32", [9, 4], Array(36).fill(1)), "nine rows of eight"),
  infer("scores", one("FP32", [0, 4], [])),
  infer("scores", one("FP32", [4], [1, 2, 3, 4])),
  infer("scores", one("FP32", [1, 3], [1, 2, 3])),
  ...[1, 3, 99, 0, -1, "x"].map((n) => classes(`classification ${n}`, { classification: n })),
  classes("classification as binary", { classification: 2, binary_data: true }),
  ...(["FP32", "INT32"] as const).map((datatype) =>
    infer(
      datatype,
      one(datatype, [3], [1, 3, 2], {
        outputs: [{ name: "y", parameters: { classification: 2 } }],
      }),
    )
  ),

  ...([
    ["gzip", gzipSync(GOOD_BYTES)],
    ["deflate", deflateSync(GOOD_BYTES)],
    ["identity", GOOD_BYTES],
    ["br", GOOD_BYTES],
    ["GZIP", gzipSync(GOOD_BYTES)],
    ["gzip", GOOD_BYTES],
  ] as const).map(([coding, body]) =>
    request(
      `Content-Encoding ${coding}, ${body === GOOD_BYTES ? "plain" : "coded"}`,
      "POST",
      "/v2/models/FP32/infer",
      new Uint8Array(body),
      { "Content-Encoding": coding },
    )
  ),
  ...["gzip", "deflate", "br", "*", "gzip;q=0, deflate", "deflate;q=0.5, gzip;q=0.4", "identity"]
    .map(
      (coding) => infer("FP32", GOOD, `Accept-Encoding ${coding}`, { "Accept-Encoding": coding }),
    ),
  infer("FP32", "{", "Accept-Encoding gzip on an error", { "Accept-Encoding": "gzip" }),
  get("/v2/models/versions/versions/2", { "Accept-Encoding": "gzip" }),
  infer("FP32", GOOD, "Content-Type text/plain", { "Content-Type": "text/plain" }),
];
