/** What a gateway has recorded under load is decided alike when it is replayed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { POLICIES } from "../../policies/mod.ts";
import { replay } from "../../server/engine/replay.ts";
import { mlpModel, scaleModel, seededValues } from "../fixtures/onnx.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { readDecisionLog } from "./decision_log.ts";

const MODELS = {
  "scale/1/model.onnx": scaleModel(2), // joined, if a probe says so
  "mlp/1/model.onnx": mlpModel(),
  "mlp/config.pbtxt": "max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 300 }\n",
};
const WIDTHS: Readonly<Record<string, number>> = { scale: 4, mlp: 784 };
const CLIENTS = 24;
const REQUESTS = 20;

for (const device of ["cpu", "simulated"]) {
  Deno.test(`a log recorded under load on the device ${device} replays to identical decisions`, async () => {
    await using repository = await repositoryWith(MODELS);
    await using elsewhere = await repositoryWith({});
    const log = join(elsewhere.path, "decisions.jsonl");
    await using gateway = GatewayProcess.start(
      ...["--repository", repository.path, "--device", device, "--decision-log", log],
    );
    const url = await gateway.serving;
    await Promise.all([
      ...Array.from({ length: CLIENTS }, (_, client) => converse(url, client)),
      administer(url),
    ]);
    gateway.kill("SIGTERM");
    assert.equal(await gateway.exitCode(), 0, gateway.stderr);

    const entries = await readDecisionLog(log);
    const events = new Set(entries.map(({ event }) => event));
    assert.ok(events.isSupersetOf(new Set(["arrive", "start", "finish", "policy", "remove"])));
    const decided = entries.filter(({ event }) => ["start", "idle", "discard"].includes(event));
    assert.deepEqual(replay(entries, POLICIES), decided);
  });
}

/** Sends one request after the other; some are urgent, some have no time, some are given up. */
async function converse(server: string, client: number): Promise<void> {
  const draws = [...seededValues(client, REQUESTS * 3)].map((value) => (value + 1) / 2);
  for (let i = 0; i < REQUESTS; i++) {
    const [model, rows, fate] = draws.slice(3 * i, 3 * i + 3);
    const name = model < 0.5 ? "scale" : "mlp";
    const shape = [1 + Math.floor(3 * rows), WIDTHS[name]];
    const body = JSON.stringify({
      parameters: { priority: 1 + i % 3, timeout: fate < 0.1 ? 1 : 0 },
      inputs: [{
        name: "x",
        datatype: "FP32",
        shape,
        data: Array(shape[0] * shape[1]).fill(client),
      }],
    });
    const leaving = new AbortController();
    const asking = fetch(`${server}/v2/models/${name}/infer`, {
      method: "POST",
      body,
      signal: leaving.signal,
    });
    if (fate > 0.9) leaving.abort();
    try {
      const response = await asking;
      await response.body?.cancel();
      assert.ok([200, 503, 504].includes(response.status), `${response.status}`);
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
    }
  }
}

/** Meanwhile every policy has its turn, and a model goes and comes back. */
async function administer(server: string): Promise<void> {
  const change = async (method: string, path: string, body?: object) => {
    const response = await fetch(server + path, { method, body: JSON.stringify(body) });
    assert.equal(response.status, 200, await response.text());
  };
  for (const name of POLICIES.keys()) {
    await change("PUT", "/v2/policy", { name });
    await change("POST", "/v2/repository/models/scale/unload");
    await change("POST", "/v2/repository/models/scale/load");
  }
}
