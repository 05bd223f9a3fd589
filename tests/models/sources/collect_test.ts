import assert from "node:assert/strict";
import { join } from "node:path";
import { formatManifest } from "../../../models/manifest.ts";
import { collectFiles } from "../../../models/sources/collect.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

const SCALE = fixtures.scaleModel();

async function collect(
  files: Record<string, string | Uint8Array>,
  path = "",
  version?: number,
) {
  await using folder = await repositoryWith(files);
  const collected = await collectFiles(join(folder.path, path), version);
  const relative = (paths: ReadonlyMap<string, string>) =>
    Object.fromEntries(
      Array.from(paths, ([name, path]) => [name, path.slice(folder.path.length + 1)]),
    );
  return {
    versions: collected.versions.map(({ version, files }) => [version, relative(files)]),
    shared: relative(collected.shared),
    settings: collected.settings,
  };
}

Deno.test("collectFiles() takes a file under the name it has in a repository", async () => {
  assert.deepEqual(await collect({ "net.onnx": SCALE, "other.txt": "" }, "net.onnx"), {
    versions: [[undefined, { "model.onnx": "net.onnx" }]],
    shared: {},
    settings: {},
  });
});

Deno.test("collectFiles() takes external data along", async () => {
  const { model, data } = fixtures.externalDataModel("d/weights.bin");
  const files = { "net.onnx": model, "d/weights.bin": data };
  for (const path of ["", "net.onnx"]) {
    assert.deepEqual((await collect(files, path)).versions, [
      [undefined, { "model.onnx": "net.onnx", "d/weights.bin": "d/weights.bin" }],
    ]);
  }
  await assert.rejects(
    collect({ "net.onnx": model }),
    refusal("not_found", /needs external data, and .*weights\.bin is missing$/),
  );
  await assert.rejects(
    collect({ "net.onnx": fixtures.externalDataModel("../x").model }),
    refusal("invalid_argument", /stays in its folder$/),
  );
});

Deno.test("collectFiles() takes all versions of a model's folder or the one chosen, settings and labels", async () => {
  const files = {
    "1/net.onnx": SCALE,
    "12/net.onnx": SCALE,
    "config.pbtxt":
      'default_model_filename: "net.onnx" output { name: "y" label_filename: "l/y.txt" }',
    "l/y.txt": "a\nb\n",
    "README.md": "",
    "manifest.json": formatManifest({ weight: 2, versions: { "1": { bytes: 1 } } }),
  };
  const rest = {
    shared: { "config.pbtxt": "config.pbtxt", "l/y.txt": "l/y.txt" },
    settings: { weight: 2 },
  };
  const [first, twelfth] = [1, 12].map((version) => [version, {
    "net.onnx": `${version}/net.onnx`,
  }]);
  assert.deepEqual(await collect(files), { versions: [first, twelfth], ...rest });
  assert.deepEqual(await collect(files, "", 1), { versions: [first], ...rest });
  await assert.rejects(
    collect(files, "", 2),
    refusal("not_found", /has no version 2; it has 1, 12\. .* name its folder: .*\/1$/),
  );
  await assert.rejects(
    collect({ ...files, "2/other.onnx": SCALE }),
    refusal("not_found", /2\/net\.onnx is missing$/),
  );
});

Deno.test("collectFiles() gives the version to what has none", async () => {
  const files = { "a.onnx": SCALE };
  for (const path of ["", "a.onnx"]) {
    const { versions } = await collect(files, path, 3);
    assert.deepEqual(versions, [[3, { "model.onnx": "a.onnx" }]]);
  }
});

Deno.test("collectFiles() takes settings that begin with a byte order mark", async () => {
  const { versions, settings } = await collect({
    "net.onnx": SCALE,
    "config.pbtxt": '\uFEFFdefault_model_filename: "net.onnx"',
    "manifest.json": '\uFEFF{"weight": 2}',
  });
  assert.deepEqual([versions, settings], [[[undefined, { "net.onnx": "net.onnx" }]], {
    weight: 2,
  }]);
});

Deno.test("collectFiles() refuses what is no model", async () => {
  await assert.rejects(collect({}, "nowhere"), refusal("not_found", /nowhere is missing$/));
  await assert.rejects(collect({ x: "" }), refusal("invalid_argument", /has no model; expected/));
  await assert.rejects(
    collect({ "a.onnx": SCALE, "b.onnx": SCALE }),
    refusal("invalid_argument", /has the models [ab]\.onnx, [ab]\.onnx; expected/),
  );
  await assert.rejects(collect({ "a.onnx": "text" }), refusal("invalid_argument", /it is text$/));
});

Deno.test({
  name: "collectFiles() refuses named pipes, which nobody may ever write to",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using folder = await repositoryWith({ "net/other.txt": "" });
    const pipe = join(folder.path, "net", "model.onnx");
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    for (const path of [pipe, join(folder.path, "net")]) {
      await assert.rejects(
        collectFiles(path),
        refusal("invalid_argument", /model\.onnx is no file$/),
      );
    }
  },
});
