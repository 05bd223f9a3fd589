import assert from "node:assert/strict";
import { join } from "node:path";
import { formatManifest } from "../../models/manifest.ts";
import { FileRepository } from "../../models/repository.ts";
import type { Tensor } from "../../models/tensor.ts";
import * as fixtures from "../fixtures/onnx.ts";
import { repositoryWith, writeFiles } from "../fixtures/repository.ts";
import { refusal } from "./refusal.ts";

const SCALE = fixtures.scaleModel();

async function read(files: Record<string, string | Uint8Array>, name = "m") {
  await using folder = await repositoryWith(files);
  const warnings: string[] = [];
  const repository = new FileRepository(folder.path, { warn: (text) => warnings.push(text) });
  return { models: await repository.read(name), warnings };
}

Deno.test("FileRepository.list() names the folders that can be models, sorted", async () => {
  await using folder = await repositoryWith({
    "b/1/model.onnx": SCALE,
    "a/1/model.onnx": SCALE,
    ".hidden/1/model.onnx": "",
    "not a name/1/model.onnx": "",
    "file.txt": "",
  });
  const warnings: string[] = [];
  const repository = new FileRepository(folder.path, { warn: (text) => warnings.push(text) });
  for (let i = 0; i < 2; i++) assert.deepEqual(await repository.list(), ["a", "b"]);
  assert.deepEqual(warnings, [
    `Folder "not a name" of ${folder.path} is not served: expected a model's name, 1 to 200 ` +
    'letters, digits, ".", "_" or "-", not starting with "."',
  ]);
});

Deno.test("FileRepository says when its folder is none", async () => {
  await using folder = await repositoryWith({ "file.txt": "" });
  await assert.rejects(
    new FileRepository(join(folder.path, "file.txt")).list(),
    refusal("invalid_argument", /file\.txt" is no folder$/),
  );
});

Deno.test("FileRepository.read() refuses a config.pbtxt of more than 1 MiB, unread", async () => {
  const comments = "# as good as nothing\n".repeat(49_000);
  const model = { "m/1/model.onnx": SCALE };
  assert.equal((await read({ ...model, "m/config.pbtxt": comments })).models.length, 1);
  await assert.rejects(
    read({ ...model, "m/config.pbtxt": comments + comments }),
    refusal("invalid_argument", /^m\/config.pbtxt has \d+ bytes, expected at most 1048576$/),
  );
});

Deno.test("FileRepository says when its folder is missing", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(join(folder.path, "nowhere"));
  await assert.rejects(repository.list(), refusal("not_found", /no model repository ".*nowhere"$/));
  await assert.rejects(
    repository.read("m"),
    refusal("not_found", /no model repository ".*nowhere"$/),
  );
});

Deno.test("FileRepository.read() gives the newest version of a plain model", async () => {
  await using folder = await repositoryWith({
    "m/1/model.onnx": fixtures.scaleModel(1),
    "m/10/model.onnx": fixtures.scaleModel(10),
    "m/9/model.onnx": fixtures.scaleModel(9),
  });
  const [model, ...others] = await new FileRepository(folder.path).read("m");
  assert.deepEqual(others, []);
  assert.equal(model.version, 10);
  assert.equal(model.file.path, join(await Deno.realPath(folder.path), "m/10/model.onnx"));
  assert.equal(model.fileBytes, SCALE.byteLength);
  assert.equal(model.maxBatchSize, 0);
  assert.deepEqual(model.signature, {
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 4], dimNames: ["batch", undefined] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4], dimNames: ["batch", undefined] }],
    notServed: [],
  });
  assert.equal(model.batching.probe, true);
  assert.deepEqual([model.priority, model.weight, model.pin], [0, 1, false]);
  assert.equal(model.config.name, "m");
});

Deno.test("FileRepository.read() says not found for names that are not there or are no names", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  for (const name of ["missing", "", ".", "..", "../x", "/etc", "a/b", "a\0b", ".hidden"]) {
    await assert.rejects(repository.read(name), refusal("not_found", /There is no model/));
  }
});

Deno.test("FileRepository.read() follows the version policy", async () => {
  const versions = (policy: string) =>
    read({
      "m/1/model.onnx": SCALE,
      "m/2/model.onnx": SCALE,
      "m/4/model.onnx": SCALE,
      "m/config.pbtxt": policy,
    }).then(({ models }) => models.map(({ version }) => version));
  assert.deepEqual(await versions(""), [4]);
  assert.deepEqual(await versions("version_policy { latest { num_versions: 2 } }"), [2, 4]);
  assert.deepEqual(await versions("version_policy { all { } }"), [1, 2, 4]);
  assert.deepEqual(await versions("version_policy { specific { versions: [4, 1] } }"), [1, 4]);
  await assert.rejects(
    versions("version_policy { specific { versions: [3] } }"),
    refusal("invalid_argument", /"version_policy" names version 3; there are 1, 2, 4$/),
  );
});

Deno.test("FileRepository.read() warns of folders that look like versions and are none", async () => {
  const { models, warnings } = await read({
    "m/2/model.onnx": SCALE,
    "m/03/model.onnx": SCALE,
    "m/99999999999999999999/model.onnx": SCALE,
  });
  assert.deepEqual(models.map(({ version }) => version), [2]);
  assert.equal(warnings.length, 2);
  assert.match(warnings.sort()[0], /^m\/03 is no version: expected an integer from 1 to/);
});

Deno.test("FileRepository.read() takes configuration, manifest and labels together", async () => {
  const sample: Tensor[] = [{
    name: "x",
    datatype: "FP32",
    shape: [1, 4],
    data: fixtures.fp32([1, 2, 3, 4]),
  }];
  const { models: [model], warnings } = await read({
    "m/1/net.onnx": fixtures.softmaxModel(),
    "m/labels.txt": "cat\r\ndog\n\nbee\n",
    "m/config.pbtxt": `
      max_batch_size: 8 default_model_filename: "net.onnx"
      output { name: "probabilities" label_filename: "labels.txt" }
      dynamic_batching { default_priority_level: 3 }
      metric_tags { key: "team" value: "x" }`,
    "m/manifest.json": formatManifest({
      weight: 2,
      pin: true,
      samples: [sample],
      labels: { other: ["a"] },
    }),
  });
  assert.equal(model.maxBatchSize, 8);
  assert.equal(model.batching.join, true);
  assert.deepEqual([model.priority, model.weight, model.pin], [3, 2, true]);
  assert.deepEqual(model.samples, [sample]);
  assert.deepEqual(
    [...model.labels],
    [["other", ["a"]], ["probabilities", ["cat", "dog", "", "bee"]]],
  );
  assert.equal(model.config.default_model_filename, "net.onnx");
  assert.deepEqual(warnings, [
    'm/config.pbtxt: known to Triton, without effect here: "metric_tags"',
  ]);
});

Deno.test("FileRepository.read() takes files that begin with a byte order mark", async () => {
  const [model] = (await read({
    "m/1/model.onnx": SCALE,
    "m/config.pbtxt": "\uFEFFmax_batch_size: 4",
    "m/manifest.json": '\uFEFF{"weight": 3}',
  })).models;
  assert.deepEqual([model.maxBatchSize, model.weight], [4, 3]);
});

Deno.test("FileRepository.read() counts external data, and refuses what is missing or outside", async () => {
  const { model, data } = fixtures.externalDataModel("data/weights.bin");
  const { models } = await read({ "m/1/model.onnx": model, "m/1/data/weights.bin": data });
  assert.equal(models[0].fileBytes, model.byteLength + data.byteLength);
  await assert.rejects(
    read({ "m/1/model.onnx": model }),
    refusal(
      "invalid_argument",
      /needs external data "data\/weights.bin", and m\/1\/data\/weights.bin is missing/,
    ),
  );
  for (const location of ["../weights.bin", "/etc/passwd", "a/../../../x", ""]) {
    await assert.rejects(
      read({
        "m/1/model.onnx": fixtures.externalDataModel(location).model,
        "m/weights.bin": data,
      }),
      refusal("invalid_argument", /^m\/1\/model\.onnx: external data is .*stays in its folder$/),
    );
  }
});

Deno.test("FileRepository.read() refuses links that lead out of the repository", async () => {
  await using outside = await repositoryWith({ "model.onnx": SCALE, "m/1/model.onnx": SCALE });
  await using folder = await repositoryWith({
    "inside/1/real.onnx": SCALE,
    "file/1/x": "",
    "data/1/model.onnx": fixtures.externalDataModel().model,
  });
  const link = (target: string, path: string) => Deno.symlink(target, join(folder.path, path));
  await link("real.onnx", "inside/1/model.onnx");
  await link(join(outside.path, "model.onnx"), "file/1/model.onnx");
  await link(join(outside.path, "m"), "folder");
  await link("/dev/zero", "data/1/weights.bin");
  const repository = new FileRepository(folder.path);
  assert.equal((await repository.read("inside")).length, 1);
  for (const name of ["file", "folder", "data"]) {
    await assert.rejects(repository.read(name), refusal("invalid_argument", /leads out of/), name);
  }
});

Deno.test("FileRepository.read() names the file and the fault in it", async () => {
  const refuses = (files: Record<string, string | Uint8Array>, message: RegExp) =>
    assert.rejects(read(files), refusal("invalid_argument", message));
  const model = { "m/1/model.onnx": SCALE };
  await refuses({ "m/x": "" }, /^m\/ has no version: expected a folder such as 1\/model\.onnx$/);
  await refuses({ "m/1/x": "" }, /^m\/1\/model\.onnx is missing$/);
  await refuses({ "m/1/model.onnx/x": "" }, /^m\/1\/model\.onnx is no file$/);
  await refuses({ "m/1/model.onnx": "text" }, /^m\/1\/model\.onnx is no ONNX file .* it is text$/);
  await refuses(
    { "m/1/model.onnx": fixtures.truncated(fixtures.mlpModel()) },
    /^m\/1\/model\.onnx is no ONNX file that can be read: the model announces/,
  );
  await refuses(
    { ...model, "m/config.pbtxt": "max_batch: 3" },
    /^m\/config\.pbtxt:1:1: "max_batch"/,
  );
  await refuses(
    { ...model, "m/config.pbtxt": Uint8Array.of(255) },
    /config\.pbtxt is no UTF-8 text$/,
  );
  await refuses(
    { ...model, "m/config.pbtxt": 'name: "n"' },
    /"name" is "n"; the model's folder is "m"/,
  );
  await refuses({ ...model, "m/manifest.json": "{" }, /^m\/manifest\.json is no JSON/);
  await refuses({ ...model, "m/manifest.json": '{"x":1}' }, /^m\/manifest\.json: .*"x"/);
  await refuses(
    { ...model, "m/config.pbtxt": 'output { name: "y" label_filename: "l.txt" }' },
    /"label_filename" of "y" is "l\.txt", which is missing$/,
  );
  await refuses(
    { ...model, "m/config.pbtxt": 'output { name: "y" label_filename: "../l.txt" }' },
    /"label_filename" of "y" is "\.\.\/l\.txt"; expected a relative path/,
  );
  await refuses(
    { ...model, "m/config.pbtxt": 'default_model_filename: "../1/model.onnx"' },
    /"default_model_filename" is "\.\.\/1\/model\.onnx"; expected a relative path/,
  );
  for (
    const config of ['backend: "python"', 'platform: "tensorrt_plan"', "ensemble_scheduling { }"]
  ) {
    await assert.rejects(
      read({ ...model, "m/config.pbtxt": config }),
      refusal("unsupported", /^m\/config\.pbtxt: /),
    );
  }
});

Deno.test("FileRepository.read() gives a new fingerprint when the content or a setting changes", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE, "m/config.pbtxt": "" });
  const repository = new FileRepository(folder.path);
  const fingerprint = async () => (await repository.read("m"))[0].fingerprint;
  const first = await fingerprint();
  assert.equal(await fingerprint(), first);
  await writeFiles(folder.path, { "m/config.pbtxt": "max_batch_size: 2" });
  const configured = await fingerprint();
  assert.notEqual(configured, first);
  await writeFiles(folder.path, { "m/manifest.json": '{"weight": 3}' });
  const weighted = await fingerprint();
  assert.notEqual(weighted, configured);
  await Deno.remove(join(folder.path, "m/1/model.onnx"));
  await writeFiles(folder.path, { "m/1/model.onnx": fixtures.addModel() });
  assert.notEqual(await fingerprint(), weighted);
  assert.equal((await repository.read("m"))[0].signature.inputs.length, 2);
});

Deno.test("FileRepository.read() lets a load request replace configuration and files", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE, "m/config.pbtxt": "x" });
  const repository = new FileRepository(folder.path);
  const config = JSON.stringify({ max_batch_size: 3 });
  assert.equal((await repository.read("m", { config }))[0].maxBatchSize, 3);
  const bytes = fixtures.addModel();
  const files = new Map([["7/model.onnx", bytes], ["config.pbtxt", new Uint8Array()]]);
  for (const name of ["m", "new"]) {
    const [model] = await repository.read(name, { files });
    assert.deepEqual([model.name, model.version], [name, 7]);
    assert.equal(model.file.bytes, bytes);
    assert.equal(model.file.path, undefined);
  }
  const again = await repository.read("m", { files });
  assert.equal(again[0].fingerprint, (await repository.read("m", { files }))[0].fingerprint);
});

Deno.test("FileRepository.read() refuses load requests that are wrong", async () => {
  await using folder = await repositoryWith({ "m/1/model.onnx": SCALE });
  const repository = new FileRepository(folder.path);
  const refuses = (override: Parameters<typeof repository.read>[1], message: RegExp, name = "m") =>
    assert.rejects(repository.read(name, override), refusal("invalid_argument", message));
  await refuses({ config: "{" }, /^The configuration given for "m": it is no JSON/);
  await refuses({ config: '{"max_batch": 1}' }, /"max_batch" is no known field/);
  await refuses({ files: new Map() }, /has no version/);
  await refuses({ files: new Map([["../m/1/model.onnx", SCALE]]) }, /An uploaded file is "\.\.\/m/);
  await refuses({ files: new Map([["1/model.onnx", SCALE]]) }, /name .* is not allowed/, "a/b");
  const { model, data } = fixtures.externalDataModel();
  const external = new Map([["1/model.onnx", model], ["1/weights.bin", data]]);
  await assert.rejects(
    repository.read("m", { files: external }),
    refusal("unsupported", /keeps weights in another file/),
  );
});
