import assert from "node:assert/strict";
import { FileRepository } from "../../../models/repository.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { CHANGES, stateOf, versionsOfM } from "./changes.ts";

const WRITER = new URL("./dying_writer.ts", import.meta.url).href;

async function run(folder: string, change: string, dieAt: number): Promise<Deno.CommandStatus> {
  const { code, signal, success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--cached-only", "-A", WRITER, folder, change, String(dieAt)],
    stdout: "null",
    stderr: "piped",
  }).output();
  assert.ok(success || signal === "SIGKILL", new TextDecoder().decode(stderr));
  return { code, signal, success };
}

for (const [name, { installed, states: [before, after] }] of Object.entries(CHANGES)) {
  Deno.test(`FileRepository has all or nothing of ${name} when its process is killed anywhere`, async () => {
    const seen = new Set<string>();
    for (let dieAt = 1, done = false; !done; dieAt++) {
      await using folder = await repositoryWith({});
      const repository = new FileRepository(folder.path);
      for (let i = 1; i <= installed; i++) await repository.install(versionsOfM(i));
      done = (await run(folder.path, name, dieAt)).success;
      const state = await stateOf(repository);
      assert.ok(done ? state === after : [before, after].includes(state), `${dieAt}: ${state}`);
      seen.add(state);
      const [version] = await repository.install(versionsOfM(9));
      const left = (await Array.fromAsync(Deno.readDir(folder.path))).map((entry) => entry.name);
      assert.deepEqual(left.sort(), [".lock", "m"], `${dieAt}: ${left}`);
      assert.match(await stateOf(repository), new RegExp(`(^| )${version}:9$`));
    }
    assert.deepEqual([...seen], [before, after]);
  });
}
