import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encode } from "fast-png";
import ort from "onnxruntime-node";
import expectedStories from "../../../../models/starter/expected_storyteller.json" with {
  type: "json",
};
import { type Starter, STARTERS, starterSource } from "../../../../models/starter/starters.ts";
import { fetchPath } from "../../../../models/sources/fetch.ts";
import type { Tensor } from "../../../../models/tensor.ts";
import { infer } from "../../../../server/commands/demo/client.ts";
import { demo } from "../../../../server/commands/demo/demo.ts";
import { decodePicture, turnAround } from "../../../../server/commands/demo/picture.ts";
import { readPictureCommand } from "../../../../server/commands/demo/read_picture.ts";
import { RecordedIo } from "../recorded_io.ts";

const PICTURE = new URL("../../../../server/commands/demo/picture.png", import.meta.url);
const TEXT = await Deno.readTextFile(new URL("picture.txt", PICTURE));

/** Gives the temporary folders that are left in the end. Other tests of the process make some too. */
async function leftBehind(work: () => Promise<void>): Promise<string[]> {
  const { makeTempDir } = Deno;
  const made: string[] = [];
  Object.assign(Deno, {
    makeTempDir: async (options: Deno.MakeTempOptions) => {
      const path = await makeTempDir(options);
      made.push(path);
      return path;
    },
  });
  try {
    await work();
  } finally {
    Object.assign(Deno, { makeTempDir });
  }
  assert.notDeepEqual(made, []);
  return made.filter((path) => existsSync(path));
}

Deno.test("demo serves nine models, prints requests that work, and reads the picture", async (t) => {
  const left = await leftBehind(async () => {
    const io = new RecordedIo();
    const ended = demo(["--port", "0"], io);
    await Promise.race([io.wrote("Serving until Ctrl-C"), ended]);
    const server = /models at (\S+)/.exec(io.stdout)?.[1] ?? assert.fail(io.stderr);

    await t.step("prints the text in the picture", () => {
      assert.ok(io.stdout.endsWith(`\n\n${TEXT}`), io.stdout.slice(-300));
    });
    await t.step("prints requests that work", async () => {
      const lines = io.stdout.split("\n").filter((line) => line.startsWith("curl "));
      assert.equal(lines.length, 6);
      const [digit, wine, story] = await Promise.all(lines.map(paste));
      assert.match(JSON.parse(digit).outputs[0].data[0], /^0\.99\d*:7:7$/);
      assert.deepEqual(JSON.parse(wine).outputs[0].data, [0]);
      assert.equal(JSON.parse(story).text_output, expectedStories.stories[1].told);
    });
    await t.step("reads a picture that is upside down", async () => {
      assert.deepEqual(await readTurned(server), TEXT.trimEnd().split("\n").reverse());
    });
    for (const starter of STARTERS) {
      await t.step(`answers as ONNX Runtime does: ${starter.name}`, () => compare(server, starter));
    }

    io.stop();
    assert.equal(await ended, 0);
    await assert.rejects(fetch(server));
  });
  assert.deepEqual(left, []);
});

Deno.test("demo ends by itself when it shall do so once", async () => {
  const io = new RecordedIo();
  assert.equal(await demo(["--port", "0", "--once"], io), 0);
  assert.ok(io.stdout.endsWith(`\n\n${TEXT}`));
});

Deno.test("demo ends in order when it is stopped while it fetches", async () => {
  const left = await leftBehind(async () => {
    const io = new RecordedIo();
    const ended = demo(["--port", "0", "--once"], io);
    await Promise.race([io.wrote("Fetching"), ended]);
    io.stop();
    assert.equal(await ended, 0);
  });
  assert.deepEqual(left, []);
});

Deno.test("demo names --port when the port is in use", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const io = new RecordedIo();
  assert.equal(await demo(["--port", String(listener.addr.port)], io), 1);
  assert.match(io.stderr, /^Error: Port \d+ .* is in use .*--port/);
});

Deno.test("read-picture says which file or gateway is not there", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const nobody = `127.0.0.1:${listener.addr.port}`;
  listener.close();
  const cases = [
    [["nowhere.png"], "nowhere.png cannot be read: "],
    [[fileURLToPath(PICTURE), "--server", nobody], `No gateway answers at http://${nobody}`],
  ] as const;
  for (const [argv, message] of cases) {
    const io = new RecordedIo();
    assert.equal(await readPictureCommand([...argv], io), 1);
    assert.ok(io.stderr.includes(message), io.stderr);
  }
});

Deno.test("demo refuses flags that it does not know or understand", async () => {
  for (
    const [argv, message] of [[["--prot", "1"], "--port"], [["--port", "x"], "65535"]] as const
  ) {
    const io = new RecordedIo();
    assert.equal(await demo([...argv], io), 2);
    assert.ok(io.stderr.includes(message), io.stderr);
  }
});

/** Does what a shell and curl would do with a line of the demo; gives the answer. */
async function paste(line: string): Promise<string> {
  const [, url, body] = /^curl -s (\S+)(?: -d '([^']*)')?$/.exec(line) ?? assert.fail(line);
  const response = await fetch(
    url,
    body === undefined ? {} : {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    },
  );
  const answer = await response.text();
  assert.equal(response.status, 200, answer);
  return answer;
}

/** What the task `read-picture` prints of the picture turned around. */
async function readTurned(server: string): Promise<string[]> {
  const { width, height, rgb } = turnAround(decodePicture(await Deno.readFile(PICTURE)));
  const file = await Deno.makeTempFile({ suffix: ".png" });
  try {
    await Deno.writeFile(file, encode({ width, height, channels: 3, data: rgb }));
    const io = new RecordedIo();
    assert.equal(await readPictureCommand([file, "--server", server], io), 0, io.stderr);
    return io.stdout.trimEnd().split("\n");
  } finally {
    await Deno.remove(file);
  }
}

/** Every sample must get the very answer that a plain session gives. */
async function compare(server: string, starter: Starter): Promise<void> {
  await using fetched = await fetchPath(starterSource(starter));
  const session = await ort.InferenceSession.create(fetched.path, { intraOpNumThreads: 1 });
  for (const sample of starter.samples) {
    const feeds = Object.fromEntries(sample.map((tensor) => [tensor.name, toOrt(tensor)]));
    const expected = await session.run(feeds);
    const outputs = await infer(server, starter.name, sample);
    assert.deepEqual(outputs.map(({ name }) => name), session.outputNames.map(String));
    for (const { name, shape, data } of outputs) {
      const { dims, data: values } = expected[name];
      assert.deepEqual(shape, [...dims], name);
      assertClose(data, values as Float32Array | BigInt64Array, name);
    }
  }
  await session.release();
}

function toOrt({ datatype, shape, data }: Tensor): ort.Tensor {
  const { buffer } = data.slice();
  return datatype === "INT64"
    ? new ort.Tensor("int64", new BigInt64Array(buffer), shape)
    : new ort.Tensor("float32", new Float32Array(buffer), shape);
}

/** Threads may sum in another order; labels must be the same. */
function assertClose(data: Uint8Array, expected: Float32Array | BigInt64Array, name: string) {
  const { buffer } = data.slice();
  if (expected instanceof BigInt64Array) {
    return assert.deepEqual(new BigInt64Array(buffer), expected, name);
  }
  const found = new Float32Array(buffer);
  assert.equal(found.length, expected.length, name);
  const off = found.findIndex((value, index) => Math.abs(value - expected[index]) > 1e-5);
  assert.equal(off, -1, `${name}[${off}] is ${found[off]}, not ${expected[off]}`);
}
