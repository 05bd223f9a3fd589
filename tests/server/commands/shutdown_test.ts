import assert from "node:assert/strict";
import { join } from "node:path";
import { scaleModel } from "../../fixtures/onnx.ts";
import { withFolder } from "../../fixtures/with_folder.ts";
import { GatewayProcess } from "./gateway_process.ts";

/** Runs `test` with a temporary folder and a repository in it. */
function withModels(
  models: Readonly<Record<string, Uint8Array>>,
  test: (repository: string, folder: string) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const repository = join(folder, "models");
    for (const [name, bytes] of Object.entries(models)) {
      await Deno.mkdir(join(repository, name, "1"), { recursive: true });
      await Deno.writeFile(join(repository, name, "1", "model.onnx"), bytes);
    }
    await test(repository, folder);
  });
}

const doubled = { double: scaleModel(2) };
const BODY = JSON.stringify({
  inputs: [{ name: "x", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }],
});

Deno.test("start answers every request it accepted when SIGTERM comes under load", () =>
  withModels(doubled, async (repository, folder) => {
    const log = join(folder, "decisions.jsonl");
    await using gateway = GatewayProcess.start("--repository", repository, "--decision-log", log);
    const url = await gateway.serving;
    let answered = 0;
    const client = async () => {
      while (true) {
        let response: Response;
        try {
          response = await fetch(`${url}/v2/models/double/infer`, { method: "POST", body: BODY });
        } catch {
          return; // refused, or cut before it was read: the log tells
        }
        const body = await response.json();
        if (response.status === 200) {
          assert.deepEqual(body.outputs[0].data, [2, 4, 6, 8]);
          if (++answered === 500) gateway.kill("SIGTERM");
        } else {
          assert.equal(response.status, 503);
          assert.match(body.error, /shutting down/);
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    assert.equal(await gateway.exitCode(), 0, gateway.stderr);
    const events = (await Deno.readTextFile(log)).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    const accepted = events.filter(({ event }) => event === "arrive").length;
    assert.ok(answered >= 500);
    assert.equal(answered, accepted);
  }));

Deno.test("start is held up by no idle, half-sent or unread request when it shall end", () =>
  withModels(doubled, async (repository) => {
    await using gateway = GatewayProcess.start(
      "--repository",
      repository,
      "--drain-timeout",
      "0.2",
    );
    const url = new URL(await gateway.serving);
    const post = `POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n`;
    using _idle = await openConnection(url);
    using halfSent = await openConnection(url);
    using unread = await openConnection(url);
    await send(halfSent, post + "{");
    await send(unread, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2000));
    gateway.kill("SIGTERM");
    assert.equal(await gateway.exitCode(), 0, gateway.stderr);
    assert.match(gateway.stderr, /Cut off clients/);
  }));

Deno.test("start ends at once, and says that it failed, when a second signal comes", () =>
  withModels(doubled, async (repository) => {
    await using gateway = GatewayProcess.start("--repository", repository, "--drain-delay", "3600");
    await gateway.serving;
    let ended = false;
    const exitCode = gateway.exitCode().finally(() => ended = true);
    while (!ended) {
      gateway.kill("SIGTERM");
      await Promise.race([exitCode, new Promise((resolve) => setTimeout(resolve, 50))]);
    }
    assert.equal(await exitCode, 1);
    assert.match(gateway.stderr, /Draining/);
  }));

/** A connection that has been used once. */
async function openConnection({ hostname, port }: URL): Promise<Deno.Conn> {
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await send(connection, "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n");
  const count = await connection.read(new Uint8Array(1024));
  assert.ok(count !== null);
  return connection;
}

async function send(connection: Deno.Conn, text: string): Promise<void> {
  await connection.write(new TextEncoder().encode(text));
}
