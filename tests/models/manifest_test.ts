import assert from "node:assert/strict";
import { formatManifest, type Manifest, parseManifest } from "../../models/manifest.ts";
import { refusal } from "./refusal.ts";

Deno.test("parseManifest() reads back what formatManifest() writes", () => {
  const manifest: Manifest = {
    versions: {
      "3": {
        sha256: "a".repeat(64),
        bytes: 12,
        source: "npm:a@1.0.0/b",
        batching: { join: true, reason: "Equal", batchedInputs: [true, false] },
        sequenceBatching: { join: false, reason: "Differ", batchedInputs: [] },
        job: { id: "j1", iterations: 500 },
      },
    },
    maxBatch: 8,
    priority: 1,
    weight: 0.5,
    pin: true,
    samples: [[{ name: "x", datatype: "UINT8", shape: [2], data: Uint8Array.of(1, 2) }]],
    labels: { y: ["cat", "dog"] },
    carry: { next: "state" },
    maxIdleSeconds: 0.5,
    generation: { tokens: "t", position: "p", logits: "l", maxTokens: 16, endToken: 256 },
    checkpoint: "trained",
  };
  assert.deepEqual(parseManifest(formatManifest(manifest), "manifest.json"), manifest);
  assert.deepEqual(parseManifest("{}", "manifest.json"), {});
});

Deno.test("parseManifest() refuses what is wrong, naming file and field", () => {
  const refuses = (text: string, message: RegExp) =>
    assert.throws(
      () => parseManifest(text, "m/manifest.json"),
      refusal("invalid_argument", message),
    );
  refuses('{"pin": tru', /^m\/manifest\.json is no JSON: /);
  refuses("[]", /^m\/manifest\.json: .*object/);
  refuses('{"pinn": true}', /^m\/manifest\.json: .*"pinn"/);
  refuses('{"weight": 0}', /"weight": /);
  refuses('{"priority": 1.5}', /"priority": /);
  refuses('{"versions": {"01": {}}}', /"versions\.01": /);
  refuses('{"versions": {"1": {"sha256": "abc"}}}', /"versions\.1\.sha256": expected 64 hex/);
  refuses('{"carry": {"a": 1}}', /"carry\.a": .*string/);
  refuses('{"maxIdleSeconds": 0}', /"maxIdleSeconds": /);
  refuses('{"maxIdleSeconds": 1e9}', /"maxIdleSeconds": .*604800/);
  refuses('{"checkpoint": "../a"}', /"checkpoint": is "..\/a"; expected a model's name/);
  refuses('{"generation": {"tokens": "t"}}', /"generation\.position": /);
  const generation = { tokens: "t", position: "p", logits: "l", maxTokens: 1, endToken: 0 };
  const generating = (changes: object) =>
    JSON.stringify({ generation: { ...generation, ...changes } });
  refuses(generating({ maxTokens: 0 }), /"generation\.maxTokens": /);
  refuses(generating({ maxTokens: 2 ** 21 }), /"generation\.maxTokens": .*1048576/);
  refuses(generating({ endToken: -1 }), /"generation\.endToken": /);
  refuses(generating({ stop: 1 }), /"generation": .*"stop"/);
  refuses(
    '{"samples": [[{"name": "x", "datatype": "FP32", "shape": [2], "data": [1]}]]}',
    /"samples\.0\.0": has 4 bytes; its datatype and shape need 8/,
  );
});
