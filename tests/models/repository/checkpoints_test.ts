import assert from "node:assert/strict";
import { join } from "node:path";
import { parseManifest } from "../../../models/manifest.ts";
import { type Addition, FileRepository, type StagedVersions } from "../../../models/repository.ts";
import { FileCheckpoints } from "../../../models/repository/checkpoints.ts";
import { takeLock } from "../../../models/repository/lock.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

const FILES = {
  "m/1/model.onnx": fixtures.scaleModel(1),
  "m/3/model.onnx": fixtures.scaleModel(3),
};

function checkpointsIn(folder: string): FileCheckpoints {
  return new FileCheckpoints(new FileRepository(folder));
}

async function versionsIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.filter((entry) => entry.isDirectory).map((entry) => entry.name).sort();
}

Deno.test("FileCheckpoints.checkWritable() takes a repository that somebody else writes to", async () => {
  await using folder = await repositoryWith(FILES);
  using _held = await takeLock(join(folder.path, ".lock"), "is at it");
  await checkpointsIn(folder.path).checkWritable();
});

Deno.test({
  name: "FileCheckpoints.checkWritable() refuses one that is read-only",
  ignore: Deno.build.os !== "linux", // whose /sys takes no new files, not even root's
  fn: () =>
    assert.rejects(
      checkpointsIn("/sys").checkWritable(),
      refusal("forbidden", /^\/sys cannot be written to$/),
    ),
});

Deno.test("FileCheckpoints.add() makes the next version, with its job in the manifest", async () => {
  await using folder = await repositoryWith(FILES);
  const checkpoints = checkpointsIn(folder.path);
  const bytes = fixtures.scaleModel(7);
  const job = { id: "j1", iterations: 500 };
  assert.equal(await checkpoints.add("m", bytes, job, 5), 4);
  const text = await Deno.readTextFile(join(folder.path, "m/manifest.json"));
  const record = parseManifest(text, "manifest.json").versions?.["4"];
  assert.equal(record?.source, "job j1, iteration 500");
  assert.deepEqual(record?.job, job);
  assert.equal(record?.bytes, bytes.length);
  assert.deepEqual(await checkpoints.read("m"), { version: 4, bytes, job });
  const [served] = await new FileRepository(folder.path).read("m");
  assert.equal(served.version, 4);
});

Deno.test("FileCheckpoints.add() uses the file name that the configuration gives", async () => {
  await using folder = await repositoryWith({
    "m/config.pbtxt": 'default_model_filename: "net.onnx"',
    "m/1/net.onnx": fixtures.scaleModel(1),
  });
  await checkpointsIn(folder.path).add("m", fixtures.scaleModel(2), { id: "j", iterations: 1 }, 5);
  assert.deepEqual(
    await Deno.readFile(join(folder.path, "m/2/net.onnx")),
    fixtures.scaleModel(2),
  );
});

Deno.test("FileCheckpoints.add() keeps the newest of one job, and what others wrote", async () => {
  await using folder = await repositoryWith(FILES);
  const checkpoints = checkpointsIn(folder.path);
  const add = (id: string, iterations: number, keep: number) =>
    checkpoints.add("m", fixtures.scaleModel(iterations), { id, iterations }, keep);
  await add("other", 1, 2);
  for (let i = 1; i <= 4; i++) await add("j", i, 2);
  assert.deepEqual(await versionsIn(join(folder.path, "m")), ["1", "3", "4", "7", "8"]);
  for (let i = 5; i <= 8; i++) await add("j", i, 5);
  assert.deepEqual(
    await versionsIn(join(folder.path, "m")),
    ["1", "10", "11", "12", "3", "4", "8", "9"],
  );
});

Deno.test("FileCheckpoints.add() takes jobs that come at once one after another", async () => {
  await using folder = await repositoryWith(FILES);
  const checkpoints = checkpointsIn(folder.path);
  const added = await Promise.allSettled([
    checkpoints.add("m", fixtures.scaleModel(1), { id: "a", iterations: 1 }, 5),
    checkpoints.add("m", new Uint8Array([1]), { id: "broken", iterations: 1 }, 5),
    // More than could all find a free version at their second try.
    ...[..."bcdefghi"].map((id) =>
      checkpoints.add("m", fixtures.scaleModel(2), { id, iterations: 1 }, 5)
    ),
  ]);
  const versions = added.map((one) => one.status === "fulfilled" && one.value);
  assert.deepEqual(versions, [4, false, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.deepEqual(await versionsIn(join(folder.path, "m")), [
    "1",
    "10",
    "11",
    "12",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
  ]);
});

/** A repository in which others do something between the writing of the first addition and its commit. */
class SharedRepository extends FileRepository {
  others: (() => Promise<unknown>) | undefined;

  override async stage(added: Addition): Promise<StagedVersions> {
    const staged = await super.stage(added);
    const { others } = this;
    this.others = undefined;
    await others?.();
    return staged;
  }
}

Deno.test("FileCheckpoints.add() takes the next version when another process was faster", async () => {
  await using folder = await repositoryWith(FILES);
  const repository = new SharedRepository(folder.path);
  const files = new Map([["model.onnx", fixtures.scaleModel(9)]]);
  repository.others = () =>
    new FileRepository(folder.path).install({ name: "m", versions: [{ files }] });
  const job = { id: "j", iterations: 1 };
  assert.equal(await new FileCheckpoints(repository).add("m", fixtures.scaleModel(2), job, 5), 5);
});

Deno.test("FileCheckpoints.add() does not bring back a model that was unregistered meanwhile", async () => {
  await using folder = await repositoryWith(FILES);
  const repository = new SharedRepository(folder.path);
  repository.others = () => new FileRepository(folder.path).remove("m");
  await assert.rejects(
    new FileCheckpoints(repository).add("m", fixtures.scaleModel(2), { id: "j", iterations: 1 }, 5),
    refusal("not_found", /^Model "m" was unregistered meanwhile$/),
  );
  assert.deepEqual(await repository.list(), []);
});

Deno.test("FileCheckpoints.add() has written a version also where older ones cannot be removed", async () => {
  await using folder = await repositoryWith(FILES);
  const repository = new FileRepository(folder.path);
  repository.remove = () => Promise.reject(new Error("No space left on device"));
  const checkpoints = new FileCheckpoints(repository);
  for (const iterations of [1, 2]) {
    const version = await checkpoints.add("m", fixtures.scaleModel(2), { id: "j", iterations }, 1);
    assert.equal(version, 3 + iterations);
  }
});

Deno.test("FileCheckpoints.read() finds a version by number, or the newest", async () => {
  await using folder = await repositoryWith(FILES);
  const checkpoints = checkpointsIn(folder.path);
  assert.deepEqual(await checkpoints.read("m"), { version: 3, bytes: fixtures.scaleModel(3) });
  assert.deepEqual(await checkpoints.read("m", 1), { version: 1, bytes: fixtures.scaleModel(1) });
});

Deno.test("FileCheckpoints.read() says what there is instead", async () => {
  await using folder = await repositoryWith(FILES);
  const checkpoints = checkpointsIn(folder.path);
  await assert.rejects(
    checkpoints.read("m", 2),
    refusal("not_found", /^Model "m" has no version 2; it has 1, 3$/),
  );
  await assert.rejects(checkpoints.read("n"), refusal("not_found", /^There is no model "n"/));
  await assert.rejects(checkpoints.read("../m"), refusal("invalid_argument", /not allowed/));
  await assert.rejects(
    checkpointsIn(join(folder.path, "none")).read("m"),
    refusal("not_found", /no model repository ".*none"$/),
  );
});
