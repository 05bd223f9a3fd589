import assert from "node:assert/strict";
import { testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const model = fakeModel(
  "m",
  [{ name: "x", datatype: "FP32", shape: [-1] }],
  [{ name: "y", datatype: "FP32", shape: [-1] }],
);
const json = JSON.stringify({
  inputs: [{ name: "x", shape: [1], datatype: "FP32", data: [1] }],
});

/** Sends bytes as they are and reads until `enough`, or until the server closes. */
async function exchange(text: string, maxBodyBytes = 10_000, enough?: RegExp): Promise<string> {
  await using app = testApp({ engine: fakeEngine([model]), maxBodyBytes });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  await connection.write(new TextEncoder().encode(text));
  let answer = "";
  const decoder = new TextDecoder();
  for await (const chunk of connection.readable) {
    answer += decoder.decode(chunk, { stream: true });
    if (enough?.test(answer)) break;
  }
  return answer;
}

const request = (line: string, headers: readonly string[] = [], body = "") =>
  [`${line} HTTP/1.1`, "Host: h", "Connection: close", ...headers, "", body].join("\r\n");

Deno.test("a path is compared as it was sent", async () => {
  for (
    const path of [
      "/v2/models/../models/m",
      "/v2/models/x/../m",
      "/v2/models/%2e%2e/m",
      "/v2/./models/m",
      "/v2//models/m",
      "/v2/models/m%2f",
      "/v2\\models\\m",
    ]
  ) {
    const answer = await exchange(request(`GET ${path}`));
    assert.match(answer, /^HTTP\/1\.1 404 .*\r\n/, path);
    assert.match(answer, /\{"error":"[^"]+"\}$/);
  }
  assert.match(await exchange(request("GET /v2/models/m?x=/../y")), /^HTTP\/1\.1 200 /);
});

Deno.test("a chunked body is read, and refused beyond the limit", async () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const chunked = chunk(json.slice(0, 20)) + chunk(json.slice(20)) + "0\r\n\r\n";
  const post = request("POST /v2/models/m/infer", ["Transfer-Encoding: chunked"], chunked);
  assert.match(await exchange(post), /^HTTP\/1\.1 200 [^]*"data":\[1\.0\]/);
  assert.match(await exchange(post, 30), /^HTTP\/1\.1 413 [^]*at most 30 bytes/);
});

Deno.test("a body that ends early is refused, whoever is there to read it", async () => {
  await using app = testApp({ engine: fakeEngine([model]) });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const post = request("POST /v2/models/m/infer", ["Content-Length: 100"], "{");
  await connection.write(new TextEncoder().encode(post));
  await connection.closeWrite();
  const answer = await new Response(connection.readable).text();
  assert.match(answer, /^HTTP\/1\.1 400 [^]*expected 100 bytes/);
});

Deno.test("a body that declares too much is refused before it comes", async () => {
  const post = request("POST /v2/models/m/infer", ["Content-Length: 10001"], "{");
  assert.match(await exchange(post, 10_000, /\}$/), /^HTTP\/1\.1 413 [^]*10001 bytes/);
});

Deno.test("Expect: 100-continue is answered before the body", async () => {
  const headers = ["Expect: 100-continue", `Content-Length: ${json.length}`];
  const answer = await exchange(request("POST /v2/models/m/infer", headers, json));
  assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
});

Deno.test("form data is taken as what it is, not parsed", async () => {
  const headers = [
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${json.length}`,
  ];
  const answer = await exchange(request("POST /v2/models/m/infer", headers, json));
  assert.match(answer, /^HTTP\/1\.1 200 /);
});

Deno.test("HEAD is refused everywhere, without a body", async () => {
  const answer = await exchange(request("HEAD /v2/health/live"));
  assert.match(answer, /^HTTP\/1\.1 405 [^]*\r\nallow: GET\r\n/);
  assert.ok(answer.endsWith("\r\n\r\n"));
});

Deno.test("a client that leaves aborts its request's signal", async () => {
  const left = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<AbortSignal>();
  const engine = fakeEngine([model], {
    answer(request) {
      request.signal?.addEventListener("abort", () => {
        request.respond([], {
          queueMicros: 0,
          computeMicros: 0,
          batchRows: 1,
          lane: 0,
          because: "",
        });
        left.resolve();
      }, { once: true });
      waiting.resolve(request.signal!);
    },
  });
  await using app = testApp({ engine });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const headers = [`Content-Length: ${json.length}`];
  const post = request("POST /v2/models/m/infer", headers, json);
  await connection.write(new TextEncoder().encode(post));
  assert.equal((await waiting.promise).aborted, false);
  connection.close();
  await left.promise;
});
