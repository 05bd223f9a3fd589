import assert from "node:assert/strict";
import { adminGuard } from "../../../server/protocols/admin.ts";
import { ask, errorOf, LOCAL, REMOTE, testApp } from "./exchange.ts";
import { fakeEngine } from "./fake_engine.ts";

type HeadersRecord = Record<string, string>;

const WRONG: readonly HeadersRecord[] = [
  {},
  { "x-admin-key": "wrong" },
  { authorization: "Basic secret" },
  { authorization: "Bearer wrong" },
];
const RIGHT: readonly HeadersRecord[] = [
  { "x-admin-key": "secret" },
  { authorization: "Bearer secret" },
  { authorization: "bearer secret" },
];

const GUARDED = [
  ["POST", "/v2/repository/models/m/load"],
  ["POST", "/v2/repository/models/m/unload"],
  ["PUT", "/v2/policy"],
  ["POST", "/v2/policy"],
] as const;

for (const [method, path] of GUARDED) {
  Deno.test(`${method} ${path} needs the key where there is one, from anywhere`, async () => {
    const engine = fakeEngine([]);
    const app = testApp({ engine, adminKey: "secret" });
    for (const info of [LOCAL, REMOTE]) {
      for (const headers of WRONG) {
        const answer = await ask(
          app,
          method,
          path,
          { name: "fair" },
          headers,
          info,
        );
        assert.equal(answer.status, 403);
        assert.ok(errorOf(answer).includes("admin key"));
        assert.equal(answer.headers.get("sluice-error-code"), "forbidden");
      }
    }
    assert.equal(engine.loads.length + engine.unloads.length, 0);
    assert.equal(engine.policy().name, "fifo");
    for (const headers of RIGHT) {
      const answer = await ask(
        app,
        method,
        path,
        { name: "fair" },
        headers,
        REMOTE,
      );
      assert.equal(answer.status, 200, answer.text);
    }
  });

  Deno.test(`${method} ${path} needs loopback where there is no key`, async () => {
    const engine = fakeEngine([]);
    const app = testApp({ engine });
    const answer = await ask(app, method, path, undefined, {}, REMOTE);
    assert.equal(answer.status, 403);
    assert.ok(errorOf(answer).includes("192.0.2.7"));
    assert.equal(engine.loads.length + engine.unloads.length, 0);
  });
}

const from = (hostname: string): Deno.ServeHandlerInfo => ({
  ...LOCAL,
  remoteAddr: { transport: "tcp", hostname, port: 1 },
});
const request = (headers: HeadersRecord = {}) =>
  new Request("http://127.0.0.1/v2/policy", { method: "PUT", headers });

Deno.test("adminGuard() takes every way to write loopback, and Unix sockets", () => {
  const guard = adminGuard(undefined);
  for (const hostname of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
    guard(request(), from(hostname));
  }
  guard(request(), { ...LOCAL, remoteAddr: { transport: "unix", path: "/run/s" } });
  guard(request({ origin: "http://localhost:8000" }), LOCAL);
});

Deno.test("adminGuard() refuses what only looks local", () => {
  const guard = adminGuard("");
  const cases: readonly (readonly [HeadersRecord, Deno.ServeHandlerInfo])[] = [
    [{}, from("127.0.0.1.example.com")],
    [{}, from("10.0.0.1")],
    [{ "x-forwarded-for": "192.0.2.7" }, LOCAL],
    [{ forwarded: "for=192.0.2.7" }, LOCAL],
    [{ origin: "https://example.com" }, LOCAL],
    [{ origin: "null" }, LOCAL],
  ];
  for (const [headers, info] of cases) {
    assert.throws(() => guard(request(headers), info), { code: "forbidden" });
  }
});

Deno.test("reading needs no key", async () => {
  const app = testApp({ engine: fakeEngine([]), adminKey: "secret" });
  for (const [method, path] of [["GET", "/v2/policy"], ["POST", "/v2/repository/index"]]) {
    const { status } = await ask(app, method, path, undefined, {}, REMOTE);
    assert.equal(status, 200);
  }
});
