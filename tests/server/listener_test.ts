import assert from "node:assert/strict";
import { type Answer, listen, type Listener } from "../../server/listener.ts";

const hello = () => new Response("hello");
const open = (answer: Answer = hello) => listen("127.0.0.1", 0, answer);

Deno.test("listen() answers with what it was given last", async () => {
  const listener = open();
  assert.equal(await (await fetch(listener.url)).text(), "hello");
  listener.answerWith(() => new Response("bye"));
  assert.equal(await (await fetch(listener.url)).text(), "bye");
  assert.equal(await listener.close(5000), true);
});

Deno.test("listen() says so when the port is in use", async () => {
  const first = open();
  assert.throws(() => listen("127.0.0.1", first.port, hello), {
    code: "conflict",
    message:
      `Port ${first.port} of 127.0.0.1 is in use by another process; give another one with --port`,
  });
  await first.close(5000);
});

Deno.test("listen() says so when the host cannot be listened on", () => {
  assert.throws(() => listen("203.0.113.1", 0, hello), {
    code: "invalid_argument",
    message: /^Cannot listen on 203.0.113.1, port 0: /,
  });
});

Deno.test({
  name: "listen() goes on when clients have taken every file descriptor",
  ignore: Deno.build.os === "windows",
  async fn() {
    const script = new URL("./listener_process.ts", import.meta.url).pathname;
    const process = new Deno.Command("sh", {
      args: [
        "-c",
        'ulimit -n 64; exec "$0" run --allow-all --no-check "$1"',
        Deno.execPath(),
        script,
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const lines = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const faults = process.stderr.pipeThrough(new TextDecoderStream()).getReader();
    const port = Number((await lines.read()).value);
    const taken: Deno.Conn[] = [];
    try {
      while (true) taken.push(await Deno.connect({ hostname: "127.0.0.1", port }));
    } catch {
      // Refused: it is out of file descriptors.
    }
    assert.match((await faults.read()).value!, /refused for a moment/);
    for (const connection of taken) connection.close();
    let text = "";
    while (text === "") {
      text = await fetch(`http://127.0.0.1:${port}`).then((answer) => answer.text(), () => "");
    }
    assert.equal(text, "hello");
    await lines.cancel();
    await faults.cancel();
    await process.stdin.close();
    await process.status;
  },
});

Deno.test("sendClientsAway() says so in every answer and cuts no connection", async () => {
  const listener = open();
  using connection = await connect(listener);
  await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.doesNotMatch(await connection.receive(), /connection: close/i);
  listener.sendClientsAway();
  for (let i = 0; i < 2; i++) {
    await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.match(await connection.receive(), /connection: close.*hello$/is);
  }
  assert.equal(await listener.close(5000), true);
});

Deno.test("close() waits for answers and closes idle connections", async () => {
  const answer = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const listener = open(async () => {
    begun.resolve();
    await answer.promise;
    return new Response("late");
  });
  using idle = await connect(listener);
  const response = fetch(listener.url);
  await begun.promise;
  const closed = listener.close(60_000);
  assert.equal(await idle.receive(), "");
  answer.resolve();
  assert.equal(await (await response).text(), "late");
  assert.equal(await closed, true);
  await assert.rejects(fetch(listener.url));
});

Deno.test("close() is not held by a body half sent", async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const listener = open(async (request) => {
    begun.resolve();
    await request.text().catch(() => {});
    ended.resolve();
    return new Response();
  });
  {
    using connection = await connect(listener);
    await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
    await begun.promise;
    assert.equal(await listener.close(1), false);
  }
  await ended.promise;
});

Deno.test("close() is not held by a client that does not read", async () => {
  const begun = Promise.withResolvers<void>();
  const listener = open(() => {
    begun.resolve();
    return new Response(new Uint8Array(64 * 2 ** 20));
  });
  using connection = await connect(listener);
  await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await begun.promise;
  assert.equal(await listener.close(1), false);
});

async function connect(listener: Listener) {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  const buffer = new Uint8Array(4096);
  return {
    async send(text: string): Promise<void> {
      await connection.write(new TextEncoder().encode(text));
    },
    /** What came; empty at the end. */
    async receive(): Promise<string> {
      const count = await connection.read(buffer);
      return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    },
    [Symbol.dispose]: () => connection.close(),
  };
}
