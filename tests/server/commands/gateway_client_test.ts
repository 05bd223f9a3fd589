import assert from "node:assert/strict";
import { adminKey, GatewayClient } from "../../../server/commands/gateway_client.ts";
import { listen } from "../../../server/listener.ts";
import { RecordedIo } from "./recorded_io.ts";

Deno.test("GatewayClient takes a URL, or host and port alone", () => {
  assert.equal(new GatewayClient("localhost:8000").url, "http://localhost:8000");
  assert.equal(new GatewayClient("https://gateway.example/").url, "https://gateway.example");
  assert.throws(() => new GatewayClient("http://"), {
    name: "UsageError",
    message: '--server is "http://"; expected a URL such as http://127.0.0.1:8000',
  });
});

Deno.test("GatewayClient uploads files in base64, with the admin key", async () => {
  const requests: [string, string | null, unknown][] = [];
  const listener = listen("127.0.0.1", 0, async (request) => {
    const { pathname } = new URL(request.url);
    requests.push([pathname, request.headers.get("authorization"), await request.json()]);
    return new Response();
  });
  const files = new Map([["1/model.onnx", new Uint8Array([1, 2, 255])]]);
  await new GatewayClient(listener.url, "secret").upload("digits", files);
  assert.deepEqual(requests, [[
    "/v2/repository/models/digits/load",
    "Bearer secret",
    { parameters: { "file:1/model.onnx": "AQL/" } },
  ]]);
  await listener.close(5000);
});

Deno.test("GatewayClient repeats the server's own words when it refuses", async () => {
  const answers = [
    new Response('{"error":"no room"}', { status: 503 }),
    new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" }),
  ];
  const listener = listen("127.0.0.1", 0, () => answers.shift()!);
  const client = new GatewayClient(listener.url);
  await assert.rejects(client.index(), { message: `${listener.url} refused: no room` });
  await assert.rejects(client.index(), {
    message: `${listener.url} refused: 502 Bad Gateway <h1>Bad gateway</h1>`,
  });
  await listener.close(5000);
});

Deno.test("GatewayClient says why nobody answers, with the address", async () => {
  const listener = listen("127.0.0.1", 0, () => new Response("<h1>Welcome</h1>"));
  const { port, url } = listener;
  const index = (server: string) => new GatewayClient(server).index();
  await assert.rejects(
    index(url),
    /is no gateway: it answers POST \/v2\/repository\/index with what is no JSON \(.*Welcome/,
  );
  await assert.rejects(index(`https://127.0.0.1:${port}`), {
    message: /^No gateway answers at https:\/\/127\.0\.0\.1:\d+: TLS: .+/,
  });
  await listener.close(5000);
  await assert.rejects(index(url), {
    message: /^No gateway answers at http:\/\/127\.0\.0\.1:\d+: Connection refused/,
  });
});

Deno.test("adminKey() prefers the flag to the environment", () => {
  const io = new RecordedIo({ SLUICE_ADMIN_KEY: "from-environment" });
  assert.equal(adminKey("from-flag", io), "from-flag");
  assert.equal(adminKey(undefined, io), "from-environment");
  assert.equal(adminKey(undefined, new RecordedIo()), undefined);
});
