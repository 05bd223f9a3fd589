import assert from "node:assert/strict";
import { join } from "node:path";
import { fetchSource } from "../../../models/sources/fetch.ts";
import { download } from "../../../models/sources/download.ts";
import { scaleModel } from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

const SCALE = scaleModel();
const HASH = new Uint8Array(await crypto.subtle.digest("SHA-256", SCALE)).toHex();

/** A server for one test. */
function serve(answer: (path: string) => Response): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => answer(new URL(request.url).pathname),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("fetchSource() downloads a file whose hash is right, and removes it afterwards", async () => {
  await using server = serve(() => new Response(SCALE));
  const seen: [number, number | undefined][] = [];
  let path: string;
  {
    await using fetched = await fetchSource(`${server.url}/x.onnx?key=secret`, {
      sha256: HASH.toUpperCase(),
      onProgress: (bytes, total) => seen.push([bytes, total]),
    });
    const [{ files }] = fetched.versions;
    path = files.get("model.onnx")!;
    assert.equal(fetched.source, `${server.url}/x.onnx`);
    assert.deepEqual(await Deno.readFile(path), SCALE);
    assert.deepEqual([...files.keys()], ["model.onnx"]);
  }
  await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
  assert.deepEqual(seen.at(-1), [SCALE.byteLength, SCALE.byteLength]);
});

Deno.test("fetchSource() wants the hash of what comes over the network", async () => {
  await assert.rejects(
    fetchSource("https://example.com/m.onnx"),
    refusal("invalid_argument", /a URL needs the SHA-256 of its file/),
  );
  await assert.rejects(
    fetchSource("https://example.com/m.onnx", { sha256: "abc" }),
    refusal("invalid_argument", /"abc" is none: expected 64 hexadecimal digits/),
  );
});

Deno.test("fetchSource() checks the hash of a file on this machine when one is given", async () => {
  await using folder = await repositoryWith({ "m.onnx": SCALE });
  const path = join(folder.path, "m.onnx");
  await using fetched = await fetchSource(path, { sha256: HASH });
  assert.equal(fetched.versions[0].files.get("model.onnx"), path);
  await assert.rejects(
    fetchSource(path, { sha256: "0".repeat(64) }),
    refusal("invalid_argument", new RegExp(`has the SHA-256 ${HASH}; expected 0000`)),
  );
  await assert.rejects(
    fetchSource(folder.path, { sha256: HASH }),
    refusal("not_found", /cannot be read as a file$/),
  );
});

Deno.test("download() keeps nothing of what it refuses", async () => {
  await using server = serve((path) => {
    if (path === "/missing") return new Response("no", { status: 404 });
    if (path === "/loop") return Response.redirect("http://127.0.0.1:1/loop");
    if (path === "/plain") return Response.redirect("http://example.com/m.onnx");
    if (path === "/again") {
      return new Response(null, { status: 302, headers: { location: "again" } });
    }
    if (path === "/unsaid") return new Response(new Blob([SCALE]).stream());
    return new Response(SCALE);
  });
  await using folder = await repositoryWith({});
  const refuses = async (
    path: string,
    code: "not_found" | "too_large" | "invalid_argument",
    message: RegExp,
    maxBytes?: number,
  ) => {
    await assert.rejects(
      download(new URL(path, server.url), join(folder.path, "m"), {
        sha256: path === "/wrong" ? "0".repeat(64) : HASH,
        maxBytes,
      }),
      refusal(code, message),
    );
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder.path)), []);
  };
  await refuses("/missing", "not_found", /\/missing answered 404$/);
  await refuses("/again", "not_found", /redirects more than 5 times$/);
  await refuses("/plain", "invalid_argument", /expected https/);
  await refuses("/loop", "not_found", /127\.0\.0\.1:1\/loop could not be fetched: .*blocked$/);
  await refuses("/said", "too_large", /has 1\d\d bytes or more; the limit is 10$/, 10);
  await refuses("/unsaid", "too_large", /bytes or more; the limit is 10$/, 10);
  await refuses("/wrong", "invalid_argument", new RegExp(`has the SHA-256 ${HASH}; expected 0000`));
});

Deno.test("download() stops when it is told to", async () => {
  await using server = serve(() =>
    new Response(
      new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(8)) }),
    )
  );
  await using folder = await repositoryWith({});
  const stop = new AbortController();
  await assert.rejects(
    download(new URL(server.url), join(folder.path, "m"), {
      sha256: HASH,
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("enough")),
    }),
    /enough/,
  );
  assert.deepEqual(await Array.fromAsync(Deno.readDir(folder.path)), []);
});
