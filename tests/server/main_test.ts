import assert from "node:assert/strict";
import { join } from "node:path";
import { type GatewaySettings, resolveConfig } from "../../server/config.ts";
import { type Gateway, startGateway } from "../../server/main.ts";
import { withFolder } from "../fixtures/with_folder.ts";
import { scaleModel, slowModel } from "../fixtures/onnx.ts";

/** Runs `test` with a gateway that serves one model, called `model`. */
function withGateway(
  model: Uint8Array,
  settings: GatewaySettings,
  test: (gateway: Gateway, reports: readonly string[]) => Promise<void>,
): Promise<void> {
  return withFolder(async (repository) => {
    await Deno.mkdir(join(repository, "model", "1"), { recursive: true });
    await Deno.writeFile(join(repository, "model", "1", "model.onnx"), model);
    const reports: string[] = [];
    const config = resolveConfig({ port: 0, repository, ...settings });
    const gateway = await startGateway(config, (message) => reports.push(message));
    try {
      await test(gateway, reports);
    } finally {
      await gateway.shutdown();
    }
  });
}

async function post(url: string, body: object): Promise<[number, string]> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return [response.status, await response.text()];
}

const FOUR = { inputs: [{ name: "x", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }] };

Deno.test("startGateway() serves the models of the repository and says where", () =>
  withGateway(scaleModel(3), { device: "cpu" }, async ({ url, port, engine }, reports) => {
    assert.equal(url, `http://127.0.0.1:${port}`);
    assert.deepEqual(engine.served().map(({ model }) => model.name), ["model"]);
    assert.match(reports[0], /^Loading 1 model from /);
    assert.match(reports[1], /^Loaded model 'model\/1': \d+ bytes, \d+ ms$/);
    assert.equal(reports[2], `Serving 1 model on cpu at ${url}`);
    const [status, text] = await post(`${url}/v2/models/model/infer`, FOUR);
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text).outputs[0].data, [3, 6, 9, 12]);
  }));

Deno.test("startGateway() serves the others when one model is broken, and reports it", () =>
  withGateway(
    new TextEncoder().encode("no model"),
    { device: "simulated" },
    async ({ url, engine }, reports) => {
      assert.equal(engine.served().length, 0);
      assert.match(reports[1], /^Model 'model' was not loaded: /);
      const [, index] = await post(`${url}/v2/repository/index`, {});
      assert.equal(JSON.parse(index)[0].state, "UNAVAILABLE");
    },
  ));

Deno.test("Gateway.shutdown() is not ready at once and accepts during the delay", () =>
  withGateway(scaleModel(3), { drainDelay: 2 }, async ({ url, shutdown }) => {
    const code = shutdown();
    const ready = await fetch(`${url}/v2/health/ready`);
    await ready.body?.cancel();
    assert.equal(ready.ok, false);
    const response = await fetch(`${url}/v2/models/model/infer`, {
      method: "POST",
      body: JSON.stringify(FOUR),
    });
    await response.body?.cancel();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("connection"), "close");
    assert.equal(await code, 0);
    await assert.rejects(fetch(url));
  }));

Deno.test("Gateway.shutdown() gives 1 when what was accepted is not done in time", () =>
  withGateway(
    slowModel(200, 256),
    { drainTimeout: 0 },
    async ({ engine, shutdown }, reports) => {
      const data = new Uint8Array(64 * 256 * 4);
      let answered = 0;
      const codes: string[] = [];
      for (let i = 0; i < 200; i++) {
        engine.submit({
          served: engine.find("model"),
          id: "",
          inputs: [{ name: "x", datatype: "FP32", shape: [64, 256], data }],
          priority: 0,
          timeoutMicros: 0,
          respond: () => void answered++,
          fail: (error) => void codes.push(error.code),
        });
      }
      assert.equal(await shutdown(), 1);
      assert.ok(codes.length > 0);
      assert.equal(answered + codes.length, 200);
      assert.match(reports.join("\n"), /did not finish its requests within 0 s/);
    },
  ));

Deno.test("Gateway.shutdown() called again waits for the first", () =>
  withGateway(scaleModel(3), {}, async ({ shutdown }) => {
    assert.deepEqual(await Promise.all([shutdown(), shutdown()]), [0, 0]);
  }));

Deno.test("startGateway() says nothing but what is wrong when it shall be quiet", () =>
  withGateway(scaleModel(3), { quiet: true, device: "simulated" }, (_gateway, reports) => {
    assert.deepEqual(reports, []);
    return Promise.resolve();
  }));

Deno.test("startGateway() refuses a repository that another gateway serves", () =>
  withFolder(async (repository) => {
    const config = resolveConfig({ port: 0, device: "simulated", repository });
    const first = await startGateway(config);
    await assert.rejects(startGateway(config), { code: "conflict" });
    await first.shutdown();
    const second = await startGateway(config);
    await second.shutdown();
  }));
