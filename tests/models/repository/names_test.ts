import assert from "node:assert/strict";
import { posix } from "node:path";
import fc from "fast-check";
import { SluiceError } from "../../../models/errors.ts";
import {
  checkModelName,
  checkVersion,
  containedPath,
  isModelName,
  versionOf,
} from "../../../models/repository/names.ts";
import { refusal } from "../refusal.ts";

Deno.test("isModelName() takes letters, digits, dot, underscore and hyphen", () => {
  for (const name of ["a", "silero_vad", "bge-m3", "v1.5", "_", "-", "9", "A".repeat(200)]) {
    assert.equal(isModelName(name), true, name);
  }
  for (
    const name of [
      "",
      ".",
      "..",
      ".a",
      "a/b",
      "a\\b",
      "a b",
      "ä",
      "a\n",
      "a\0",
      "%2e",
      "a:b",
      "A".repeat(201),
    ]
  ) {
    assert.equal(isModelName(name), false, JSON.stringify(name));
  }
});

Deno.test("isModelName() accepts nothing that is more than one plain part of a path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 12 }), (name) => {
      if (!isModelName(name)) return;
      assert.equal(posix.join("/models", name), `/models/${name}`);
      assert.equal(posix.basename(posix.join("/root", name)), name);
    }),
    { seed: 4, numRuns: 2000 },
  );
});

Deno.test("checkModelName() says what a name may be", () => {
  assert.throws(
    () => checkModelName("../x"),
    refusal("invalid_argument", /"\.\.\/x" is not allowed/),
  );
});

Deno.test("versionOf() reads positive integers without leading zeros", () => {
  assert.equal(versionOf("1"), 1);
  assert.equal(versionOf("20240131"), 20240131);
  for (
    const name of ["0", "01", "-1", "+1", "1.0", "1e3", "", " 1", "1\n", "99999999999999999999"]
  ) {
    assert.equal(versionOf(name), undefined, JSON.stringify(name));
  }
});

Deno.test("checkVersion() refuses what is no version", () => {
  checkVersion(1);
  for (const version of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
    assert.throws(() => checkVersion(version), refusal("invalid_argument", /is not allowed/));
  }
});

Deno.test("containedPath() normalises paths that stay in their folder", () => {
  assert.equal(containedPath("model.onnx", "x"), "model.onnx");
  assert.equal(containedPath("./a//b/./c", "x"), "a/b/c");
});

Deno.test("containedPath() refuses every path that leads elsewhere", () => {
  for (
    const path of [
      "",
      ".",
      "/etc/passwd",
      "..",
      "a/../../b",
      "a/..",
      "C:/x",
      "a\\..\\b",
      "a\0b",
      "//x",
    ]
  ) {
    assert.throws(() => containedPath(path, "It"), refusal("invalid_argument", /^It is /), path);
  }
  const parts = fc.array(fc.constantFrom("..", ".", "", "a", "\\", "C:", "b.c"), { maxLength: 6 });
  fc.assert(
    fc.property(parts, (parts) => {
      try {
        const path = containedPath(parts.join("/"), "It");
        assert.ok(posix.join("/models/x", path).startsWith("/models/x/"));
        assert.equal(posix.normalize(path), path);
      } catch (error) {
        assert.ok(error instanceof SluiceError, String(error));
      }
    }),
    { seed: 5, numRuns: 2000 },
  );
});
