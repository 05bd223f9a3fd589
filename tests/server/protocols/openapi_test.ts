import assert from "node:assert/strict";
import { SystemClock } from "../../../models/clock.ts";
import { Jobs } from "../../../server/jobs/jobs.ts";
import { appRoutes } from "../../../server/protocols/app.ts";
import { BodyBudget } from "../../../server/protocols/body_budget.ts";
import { CodecPool } from "../../../server/protocols/open_inference/codec_pool.ts";
import { openApiDocument } from "../../../server/protocols/openapi.ts";
import { errorResponder } from "../../../server/protocols/status.ts";
import { VERSION } from "../../../server/version.ts";
import { NO_CHECKPOINTS } from "../jobs/fake_checkpoints.ts";
import { ask, testApp } from "./exchange.ts";
import { fakeEngine } from "./fake_engine.ts";

const app = testApp({ engine: fakeEngine([]) });

Deno.test("openApiDocument() describes every route and no other", () => {
  const engine = fakeEngine([]);
  const routes = appRoutes({
    engine,
    jobs: new Jobs({ engine, checkpoints: NO_CHECKPOINTS }),
    errorResponse: errorResponder(false),
    maxBodyBytes: 1,
    bodies: new BodyBudget(1),
    clock: new SystemClock(),
    jsonOffLoopBytes: 1,
    codecs: new CodecPool(1),
    guard: () => {},
    strictReadiness: false,
  });
  const served = routes.flatMap(({ methods, path }) =>
    methods.map((method) =>
      `${method} ${path.replace(/\{\[0-9\]\+\}/, "").replaceAll(/:(\w+)/g, "{$1}")}`
    )
  );
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, unknown>> };
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((key) => key !== "parameters")
      .map((method) => `${method.toUpperCase()} ${path}`)
  );
  assert.deepEqual(described.sort(), served.sort());
});

Deno.test("openApiDocument() refers only to what it holds", () => {
  const document = openApiDocument();
  const { schemas } = document.components as { schemas: Record<string, unknown> };
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)];
  assert.ok(references.length > 0);
  for (const [, name] of references) assert.ok(name in schemas, name);
});

Deno.test("GET /openapi.json and /docs need nothing from elsewhere", async () => {
  const { text } = await ask(app, "GET", "/openapi.json");
  assert.equal(JSON.parse(text).info.version, VERSION);
  const page = await ask(app, "GET", "/docs");
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link);
  assert.equal(links.length, 3);
  for (const link of links) {
    const file = await ask(app, "GET", link);
    assert.equal(file.status, 200, link);
    assert.ok(file.bytes.byteLength > 0);
  }
});
