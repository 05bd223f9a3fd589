import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type Addition,
  FileRepository,
  type NewVersion,
  type WriteChunk,
} from "../../../models/repository.ts";
import { parseManifest } from "../../../models/manifest.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

const SCALE = fixtures.scaleModel();
const EQUAL = { join: true, reason: "Equal answers", batchedInputs: [true] };
const DIFFERENT = { join: false, reason: "Different answers", batchedInputs: [true] };

/** One version of the model, unless `more` has others. */
function adding(name: string, more: Partial<Addition & NewVersion> = {}): Addition {
  const { version, files = new Map([["model.onnx", SCALE]]), ...rest } = more;
  return { name, versions: [{ version, files }], ...rest };
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name).sort();
}

Deno.test("FileRepository.install() writes Triton's layout and a manifest", async () => {
  await using folder = await repositoryWith({ "elsewhere/net.onnx": SCALE });
  const repository = new FileRepository(folder.path);
  const versions = await repository.install({
    name: "m",
    versions: [{ files: new Map([["model.onnx", join(folder.path, "elsewhere/net.onnx")]]) }],
    shared: new Map([["config.pbtxt", new TextEncoder().encode("max_batch_size: 4")]]),
    settings: { priority: 2, labels: { y: ["a"] } },
    source: "npm:a@1.0.0/net",
  });
  assert.deepEqual(versions, [1]);
  assert.deepEqual(await namesIn(join(folder.path, "m")), ["1", "config.pbtxt", "manifest.json"]);
  assert.deepEqual(await Deno.readFile(join(folder.path, "m/1/model.onnx")), SCALE);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", SCALE)).toHex();
  const text = await Deno.readTextFile(join(folder.path, "m/manifest.json"));
  assert.deepEqual(parseManifest(text, "manifest.json"), {
    priority: 2,
    labels: { y: ["a"] },
    versions: { "1": { bytes: SCALE.byteLength, sha256: hash, source: "npm:a@1.0.0/net" } },
  });
  const [model] = await repository.read("m");
  assert.deepEqual([model.priority, model.maxBatchSize], [2, 4]);
});

Deno.test("FileRepository.install() takes the next version, and keeps settings not given", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  await repository.install(adding("m", { version: 7, settings: { weight: 3, pin: true } }));
  assert.deepEqual(await repository.install(adding("m", { settings: { weight: 4 } })), [8]);
  const [model] = await repository.read("m");
  assert.deepEqual([model.version, model.weight, model.pin], [8, 4, true]);
});

Deno.test("FileRepository.install() adds several versions with their numbers, or none of them", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  const files = new Map([["model.onnx", SCALE]]);
  const versions = [{ version: 2, files }, { version: 5, files }];
  assert.deepEqual(await repository.install(adding("m", { versions })), [2, 5]);
  await assert.rejects(
    repository.install(adding("m", { versions: [{ version: 4, files }, { version: 5, files }] })),
    refusal("conflict", /has a version 5 already/),
  );
  assert.deepEqual(await namesIn(join(folder.path, "m")), ["2", "5", "manifest.json"]);
});

Deno.test("FileRepository.stage() keeps what was found out of each version", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  const files = new Map([["model.onnx", SCALE]]);
  const shared = new Map([[
    "config.pbtxt",
    new TextEncoder().encode("version_policy { all { } }"),
  ]]);
  const versions = [{ version: 1, files }, { version: 2, files }];
  await using staged = await repository.stage(adding("m", { versions, shared }));
  await staged.commit(new Map([[2, { batching: EQUAL, sequenceBatching: DIFFERENT }]]));
  const text = await Deno.readTextFile(join(folder.path, "m/manifest.json"));
  const records = parseManifest(text, "manifest.json").versions ?? {};
  assert.equal(records["1"].sequenceBatching, undefined);
  assert.deepEqual(records["2"].sequenceBatching, DIFFERENT);
  const models = await repository.read("m");
  assert.deepEqual(models.map(({ batching }) => [batching.join, batching.probe]), [
    [false, true],
    [true, false],
  ]);
});

Deno.test("FileRepository.install() refuses a version that is there, saying what to do", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  await repository.install(adding("m", { version: 3 }));
  await assert.rejects(
    repository.install(adding("m", { version: 3 })),
    refusal("conflict", /has a version 3 already. Give another one \(the next is 4\), or unreg/),
  );
});

Deno.test("FileRepository.install() leaves nothing of what it refuses", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE, "m/manifest.json": "{}" });
  const repository = new FileRepository(folder.path);
  const refused: [Addition, RegExp][] = [
    [adding("a/b"), /name "a\/b" is not allowed/],
    [adding("n", { version: 0 }), /Version 0 is not allowed/],
    [adding("n", { files: new Map() }), /n\/1\/model\.onnx is missing/],
    [adding("n", { files: new Map([["../x", SCALE]]) }), /A file of the version is "\.\.\/x"/],
    [adding("n", { shared: new Map([["/x", SCALE]]) }), /A file beside the versions is "\/x"/],
    [adding("n", { files: new Map([["model.onnx", fixtures.truncated(SCALE)]]) }), /no ONNX file/],
    [
      adding("n", { files: new Map([["model.onnx", fixtures.externalDataModel().model]]) }),
      /needs/,
    ],
    [
      adding("m", { shared: new Map([["config.pbtxt", new TextEncoder().encode("max: 1")]]) }),
      /"max" is no known field/,
    ],
  ];
  for (const [added, message] of refused) {
    await assert.rejects(repository.install(added), refusal("invalid_argument", message));
  }
  assert.deepEqual(await repository.list(), ["m"]);
  assert.deepEqual(await namesIn(join(folder.path, "m")), ["1", "manifest.json"]);
  assert.deepEqual(await namesIn(folder.path), [".lock", "m"]);
});

Deno.test("FileRepository.install() does not touch a manifest that it cannot read", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE, "m/manifest.json": "{]" });
  const repository = new FileRepository(folder.path);
  await assert.rejects(
    repository.install(adding("m")),
    refusal("invalid_argument", /^m\/manifest\.json is no JSON/),
  );
  assert.equal(await Deno.readTextFile(join(folder.path, "m/manifest.json")), "{]");
});

Deno.test("FileRepository.install() says that the disk is full, wherever it gets full", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  const full = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  for (let room = 0; room < 3; room++) {
    let left = room;
    const write: WriteChunk = (file, chunk) => {
      file.writeSync(chunk.subarray(0, left > 0 ? undefined : 3));
      return left-- > 0 ? Promise.resolve() : Promise.reject(full);
    };
    const shared = new Map([["config.pbtxt", new Uint8Array()]]);
    await assert.rejects(
      repository.install(adding("m", { shared }), { write }),
      refusal("too_large", /^The disk of .* is full\. Nothing was changed/),
    );
    assert.deepEqual(await namesIn(folder.path), [".lock"]);
  }
});

Deno.test("FileRepository.install() stops when it is told to, and leaves nothing", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(repository.install(adding("m"), { signal }), /enough/);
  assert.deepEqual(await namesIn(folder.path), [".lock"]);
});

Deno.test("FileRepository.stage() shows a version to nobody before it is committed", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  {
    await using staged = await repository.stage(adding("m"));
    const [model] = staged.models;
    assert.deepEqual(model.signature.inputs.map(({ name }) => name), ["x"]);
    assert.deepEqual(await Deno.readFile(model.file.path!), SCALE);
    assert.deepEqual(await repository.list(), []);
    await repository.install(adding("other"));
  }
  assert.deepEqual(await namesIn(folder.path), [".lock", "other"]);
  await using staged = await repository.stage(adding("m"));
  await staged.commit(new Map([[1, { batching: EQUAL }]]));
  const [model] = await repository.read("m");
  assert.deepEqual(
    [model.batching.join, model.batching.reason, model.batching.probe],
    [true, "Equal answers", false],
  );
});

Deno.test("FileRepository.stage() loses a version to whoever commits it first", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  await using first = await repository.stage(adding("m"));
  await using second = await repository.stage(adding("m"));
  await second.commit();
  await assert.rejects(first.commit(), refusal("conflict", /has a version 1 already/));
});

Deno.test("FileRepository.install() lets a file that was replaced by hand be probed again", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  await using staged = await repository.stage(adding("m"));
  await staged.commit(new Map([[1, { batching: EQUAL }]]));
  await Deno.writeFile(join(folder.path, "m/1/model.onnx"), fixtures.mlpModel(1, [4, 2]));
  assert.equal((await repository.read("m"))[0].batching.probe, true);
});

Deno.test("FileRepository.install() works from many sides at once", async () => {
  await using folder = await repositoryWith({});
  const sides = Array.from({ length: 4 }, () => new FileRepository(folder.path));
  const names = sides.map((_, i) => `m${i}`);
  await Promise.all(sides.map((side, i) => side.install(adding(names[i]))));
  assert.deepEqual(await sides[0].list(), names);
  assert.deepEqual(await namesIn(folder.path), [".lock", ...names]);
});

Deno.test("FileRepository.remove() writes no manifest where there was none", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE, "m/2/model.onnx": SCALE });
  await new FileRepository(folder.path).remove("m", 1);
  assert.deepEqual(await namesIn(join(folder.path, "m")), ["2"]);
});

Deno.test("FileRepository.remove() takes nothing from a model whose manifest it cannot read", async () => {
  await using folder = await repositoryWith({
    "m/1/model.onnx": SCALE,
    "m/2/model.onnx": SCALE,
    "m/manifest.json": "{]",
  });
  const repository = new FileRepository(folder.path);
  await assert.rejects(repository.remove("m", 1), refusal("invalid_argument", /is no JSON/));
  assert.deepEqual(await namesIn(join(folder.path, "m")), ["1", "2", "manifest.json"]);
});

Deno.test("FileRepository.remove() takes away a version, and the model with its last one", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  for (let i = 0; i < 3; i++) await repository.install(adding("m"));
  await repository.remove("m", 3);
  assert.equal((await repository.read("m"))[0].version, 2);
  const manifest = await Deno.readTextFile(join(folder.path, "m/manifest.json"));
  assert.deepEqual(Object.keys(parseManifest(manifest, "manifest.json").versions!), ["1", "2"]);
  await assert.rejects(
    repository.remove("m", 3),
    refusal("not_found", /^Model "m" has no version 3; it has 1, 2$/),
  );
  await repository.remove("m", 1);
  await repository.remove("m", 2);
  assert.deepEqual(await namesIn(folder.path), [".lock"]);
  for (const name of ["m", "..", "", ".lock"]) {
    await assert.rejects(repository.remove(name), refusal("not_found", /There is no model/));
  }
});
