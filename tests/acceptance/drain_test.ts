/** How a gateway ends, and what keeps a second one from starting. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { repositoryWith } from "../fixtures/repository.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { BUSY_MODELS, KnownRequests, ONE_AT_A_TIME } from "./busy_gateway.ts";

const REQUESTS = 60;

Deno.test("SIGTERM under load: not ready at once, every accepted request answered, nobody holds it up", async () => {
  await using repository = await repositoryWith(BUSY_MODELS);
  await using gateway = GatewayProcess.start(
    ...[
      "--repository",
      repository.path,
      "--drain-delay",
      "2",
      "--drain-timeout",
      "5",
      ...ONE_AT_A_TIME,
    ],
  );
  const url = await gateway.serving;
  const requests = await KnownRequests.learn(url);
  const { hostname, port } = new URL(url);
  const connect = async (text: string) => {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(text));
    return connection;
  };
  const head = "HTTP/1.1\r\nHost: a\r\n";
  using idle = await connect(`GET /v2/health/live ${head}\r\n`);
  assert.ok(await idle.read(new Uint8Array(1024)));
  using _halfHeader = await connect(`POST /v2/models/first/infer ${head}`);
  using _halfBody = await connect(
    `POST /v2/models/first/infer ${head}Content-Length: 100\r\n\r\n{`,
  );
  using _unread = await connect(`GET /docs/swagger-ui-bundle.js ${head}\r\n`.repeat(20));

  const { answered } = await requests.pile(REQUESTS);
  gateway.kill("SIGTERM");
  while (await isReady(url));
  await Promise.all([answered, requests.ask(0)]); // the last one came in the delay
  assert.equal(await gateway.exitCode(), 0, gateway.stderr);
  assert.match(gateway.stderr, /Cut off clients that had not sent their request/);
  await assert.rejects(fetch(url));
});

Deno.test("a repository has one gateway at a time, and the next when that one is gone, however it went", async () => {
  await using repository = await repositoryWith({});
  const flags = ["--repository", repository.path, "--device", "simulated"];
  {
    await using first = GatewayProcess.start(...flags);
    const url = await first.serving;
    await using second = GatewayProcess.start(...flags);
    assert.equal(await second.exitCode(), 1);
    assert.equal(
      second.stderr,
      `Error: Another process (pid ${first.pid}) serves ${repository.path}. ` +
        "Stop it, or serve another folder with --repository\n",
    );
    assert.equal(await isReady(url), true);
    first.kill("SIGKILL");
    await first.exitCode();
  }
  await using third = GatewayProcess.start(...flags);
  assert.equal(await isReady(await third.serving), true);
});

Deno.test("a port in use is an error that names it, and the one who has it serves on", async () => {
  await using repositories = await repositoryWith({ "a/.keep": "", "b/.keep": "" });
  const flags = ["--device", "simulated", "--repository"];
  await using first = GatewayProcess.start(...flags, join(repositories.path, "a"));
  const url = await first.serving;
  const { port } = new URL(url);
  await using second = GatewayProcess.start(
    ...flags,
    join(repositories.path, "b"),
    "--port",
    port,
  );
  assert.equal(await second.exitCode(), 1);
  assert.match(second.stderr, new RegExp(`^Error: Port ${port} of 127\\.0\\.0\\.1 is in use`));
  assert.equal(await isReady(url), true);
});

async function isReady(server: string): Promise<boolean> {
  const response = await fetch(`${server}/v2/health/ready`);
  await response.body?.cancel();
  return response.ok;
}
