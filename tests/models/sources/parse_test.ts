import assert from "node:assert/strict";
import fc from "fast-check";
import { SluiceError } from "../../../models/errors.ts";
import { parseSource, withoutSecrets } from "../../../models/sources/parse.ts";
import { refusal } from "../refusal.ts";

Deno.test("parseSource() tells files, packages and URLs apart", () => {
  assert.deepEqual(parseSource("./a b/model.onnx"), { kind: "path", path: "./a b/model.onnx" });
  assert.deepEqual(parseSource("file:///a%20b/m.onnx"), { kind: "path", path: "/a b/m.onnx" });
  assert.deepEqual(parseSource("npm:@scope/name@1.0.3/weights/x.onnx"), {
    kind: "npm",
    name: "@scope/name",
    version: "1.0.3",
    path: "weights/x.onnx",
  });
  assert.deepEqual(parseSource("npm:name@^2.0.0-rc.1/x"), {
    kind: "npm",
    name: "name",
    version: "^2.0.0-rc.1",
    path: "x",
  });
  for (const url of ["https://example.com/m.onnx", "http://127.0.0.1:1/m", "http://[::1]/m"]) {
    assert.deepEqual(parseSource(url), { kind: "url", url: new URL(url) });
  }
});

Deno.test("parseSource() says what it expects of what it does not understand", () => {
  const refuses = (text: string, message: RegExp) =>
    assert.throws(() => parseSource(text), refusal("invalid_argument", message));
  refuses("", /^Source "": expected a file, a folder, npm:/);
  refuses("a\0b", /expected a file/);
  refuses("s3://bucket/x", /"s3:" is not understood; expected/);
  refuses("jsr:@a/b", /"jsr:" is not understood/);
  refuses("https://", /it is no URL/);
  refuses("http://example.com/m.onnx", /expected https; http is for this machine alone/);
  refuses("http://127.0.0.1.example.com/m", /expected https/);
  refuses("file://host/x", /host/);
  for (
    const text of [
      "npm:",
      "npm:name",
      "npm:name@1.0.0",
      "npm:name/x",
      "npm:Name@1/x",
      "npm:a@file:b/x",
      "npm:@a@1/x",
      "npm:../a@1/x",
    ]
  ) {
    refuses(text, /expected npm:package@version\/path/);
  }
  refuses("npm:a@1.0.0/../b", /The path in the package is "\.\.\/b"/);
});

Deno.test("parseSource() either understands a text or refuses it", () => {
  const schemes = fc.constantFrom("", "npm:", "https://", "http://", "file://", "x:");
  fc.assert(
    fc.property(schemes, fc.string({ unit: "binary", maxLength: 30 }), (scheme, rest) => {
      try {
        const source = parseSource(scheme + rest);
        if (source.kind === "npm") assert.doesNotMatch(`/${source.path}/`, /\/\.\.\/|\/\//);
      } catch (error) {
        assert.ok(error instanceof SluiceError, String(error));
      }
    }),
    { seed: 6, numRuns: 2000 },
  );
});

Deno.test("withoutSecrets() takes from URLs what may give access", () => {
  assert.equal(
    withoutSecrets("https://me:secret@example.com/m.onnx?sig=secret#x"),
    "https://example.com/m.onnx",
  );
  assert.equal(withoutSecrets("npm:a@1.0.0/m?x"), "npm:a@1.0.0/m?x");
  assert.equal(withoutSecrets("./m.onnx?x"), "./m.onnx?x");
});
