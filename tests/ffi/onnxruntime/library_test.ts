import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { OnnxRuntimeError, OnnxRuntimeUnavailableError } from "../../../ffi/onnxruntime/errors.ts";
import { openOnnxRuntime } from "../../../ffi/onnxruntime/library.ts";
import { API, API_BASE } from "../../../ffi/onnxruntime/symbols.ts";

function unavailable(reason: string, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OnnxRuntimeUnavailableError);
    assert.equal(error.reason, reason);
    assert.match(error.message, message);
    return true;
  };
}

Deno.test("openOnnxRuntime() opens the library of the npm package", () => {
  using runtime = openOnnxRuntime();
  assert.match(runtime.version, /^1\.\d+\.\d+$/);
});

Deno.test("openOnnxRuntime() tells a missing file from a file that is no library", async () => {
  assert.throws(
    () => openOnnxRuntime("/no/such/libonnxruntime.so.1"),
    unavailable("not_installed", /\/no\/such\/libonnxruntime\.so\.1: .*No such file/i),
  );
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "no library");
    assert.throws(() => openOnnxRuntime(path), unavailable("not_installed", /could not be opened/));
  } finally {
    await Deno.remove(path);
  }
});

Deno.test({
  name: "openOnnxRuntime() says so when it is not permitted",
  permissions: { ffi: false, read: true },
  fn() {
    assert.throws(() => openOnnxRuntime(), unavailable("not_permitted", /--allow-ffi/));
  },
});

Deno.test({
  name: "openOnnxRuntime() says so when only the file is permitted",
  permissions: { ffi: [library()], read: true },
  fn() {
    assert.throws(() => openOnnxRuntime(), unavailable("not_permitted", /without a path/));
  },
});

function library(): string {
  const { os, arch } = Deno.build;
  const folder = `${os}/${arch === "x86_64" ? "x64" : "arm64"}`;
  const file = os === "darwin" ? "libonnxruntime.1.dylib" : "libonnxruntime.so.1";
  const entry = import.meta.resolve("onnxruntime-node");
  return fileURLToPath(new URL(`../bin/napi-v6/${folder}/${file}`, entry));
}

Deno.test("check() throws what a status says", () => {
  using runtime = openOnnxRuntime();
  runtime.check("Nothing", null);
  const { api } = runtime;
  const options = runtime.handle(
    "CreateSessionOptions",
    (out) => api.CreateSessionOptions.call(out),
  );
  const empty = new Uint8Array(1);
  const status = api.AddSessionConfigEntry.call(options, empty, empty);
  api.ReleaseSessionOptions.call(options);
  assert.throws(() => runtime.check("AddSessionConfigEntry", status), (error) => {
    assert.ok(error instanceof OnnxRuntimeError);
    assert.equal(error.call, "AddSessionConfigEntry");
    assert.equal(error.codeName, "INVALID_ARGUMENT");
    assert.ok(error.reason.length > 0);
    assert.equal(
      error.message,
      `AddSessionConfigEntry failed with INVALID_ARGUMENT: ${error.reason}`,
    );
    return true;
  });
});

Deno.test("API has each slot once, but for calls that may not block", () => {
  for (const table of [API, API_BASE]) {
    const names = new Map<number, string>();
    for (const [name, { index }] of Object.entries(table)) {
      const other = names.get(index);
      if (other !== undefined) assert.equal(name, `${other}Nonblocking`);
      names.set(index, name);
    }
  }
});
