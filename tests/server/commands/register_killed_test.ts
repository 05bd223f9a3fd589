import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FileRepository } from "../../../models/repository.ts";
import { withFolder } from "../../fixtures/with_folder.ts";
import { heavyModel, seededValues } from "../../fixtures/onnx.ts";

const REGISTER = fileURLToPath(new URL("../../../server/commands/register.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const KILLS = 100;
/** Registrations at once. */
const LINES = 2;
/** Kills come at any time from the first trace in the repository to well after the end. */
const LONGEST_WAIT_MILLIS = 60;

Deno.test({
  name: "register killed at any point 100 times leaves the repository whole",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (folder) => {
      const repository = join(folder, "repository");
      await Deno.mkdir(repository);
      const source = join(folder, "heavy.onnx");
      const model = heavyModel(4_000_000);
      await Deno.writeFile(source, model);
      const sha256 = createHash("sha256").update(model).digest("hex");
      const waits = Array.from(seededValues(9, KILLS), (value) => Math.abs(value));
      const spawn = () => spawnRegister(source, repository);
      let killed = 0;
      await Promise.all(Array.from({ length: LINES }, async (_, line) => {
        for (let i = line; i < KILLS; i += LINES) {
          const signal = await killDuring(spawn(), repository, waits[i] * LONGEST_WAIT_MILLIS);
          if (signal === "SIGKILL") killed++;
          await checkWhole(repository, sha256);
        }
      }));
      assert.ok(killed > KILLS / 10, `only ${killed} of ${KILLS} registrations were killed`);

      const { success } = await spawn().status;
      assert.ok(success, "a registration after all the killed ones");
      await checkWhole(repository, sha256);
      const left = (await Array.fromAsync(Deno.readDir(repository))).map((entry) => entry.name);
      assert.deepEqual(left.sort(), [".lock", "heavy"]);
    }),
});

function spawnRegister(source: string, repository: string): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", REGISTER, "heavy", source],
      ...["--repository", repository, "--no-trial"],
    ],
    cwd: ROOT,
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** Kills a registration some time after it has begun to write; gives the signal that ended it. */
async function killDuring(
  child: Deno.ChildProcess,
  repository: string,
  waitMillis: number,
): Promise<Deno.Signal | null> {
  using changes = Deno.watchFs(repository);
  const begun = (async () => {
    for await (const _ of changes) return;
  })();
  await Promise.race([begun, child.status]);
  await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMillis)), child.status]);
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it has ended
  }
  return (await child.status).signal;
}

/** Every version that can be seen is complete. */
async function checkWhole(folder: string, sha256: string): Promise<void> {
  const repository = new FileRepository(folder);
  for (const name of await repository.list()) {
    assert.equal(name, "heavy");
    const manifest = JSON.parse(await Deno.readTextFile(join(folder, name, "manifest.json")));
    const versions = (await Array.fromAsync(Deno.readDir(join(folder, name))))
      .map((entry) => entry.name).filter((entry) => /^\d+$/.test(entry));
    assert.notEqual(versions.length, 0);
    for (const version of versions) {
      const bytes = await Deno.readFile(join(folder, name, version, "model.onnx"));
      assert.equal(createHash("sha256").update(bytes).digest("hex"), sha256);
      assert.equal(manifest.versions[version].sha256, sha256);
    }
    await repository.read(name);
  }
}
