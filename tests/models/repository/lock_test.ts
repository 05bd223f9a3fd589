import assert from "node:assert/strict";
import { join } from "node:path";
import { FileRepository } from "../../../models/repository.ts";
import { takeLock, tryTakeLock } from "../../../models/repository/lock.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

Deno.test("takeLock() refuses while another holds it, naming the process", async () => {
  await using folder = await repositoryWith({});
  const path = join(folder.path, "lock");
  {
    using _held = await takeLock(path, "is at it");
    await assert.rejects(
      takeLock(path, "is at it"),
      refusal("conflict", new RegExp(`^Another process \\(pid ${Deno.pid}\\) is at it$`)),
    );
    assert.equal(await tryTakeLock(path), undefined);
  }
  using again = await takeLock(path, "is at it");
  assert.equal(again.path, path);
});

Deno.test("takeLock() waits for the other as long as it may", async () => {
  await using folder = await repositoryWith({});
  const path = join(folder.path, "lock");
  const held = await takeLock(path, "is at it");
  const waiting = takeLock(path, "is at it", 60_000);
  held[Symbol.dispose]();
  using taken = await waiting;
  assert.equal(taken.path, path);
});

Deno.test("takeLock() gets what a killed process held", async () => {
  await using folder = await repositoryWith({});
  const path = join(folder.path, "lock");
  const program = `
    const file = await Deno.open(${JSON.stringify(path)}, { write: true, create: true });
    await file.lock(true);
    console.log("held");
    await new Promise((resolve) => setTimeout(resolve, 1e6));`;
  await using other = new Deno.Command(Deno.execPath(), {
    args: ["eval", program],
    stdout: "piped",
  }).spawn();
  const output = other.stdout.getReader();
  await output.read();
  assert.equal(await tryTakeLock(path), undefined);
  other.kill("SIGKILL");
  await other.status;
  await output.cancel();
  using taken = await takeLock(path, "is at it");
  assert.equal(taken.path, path);
});

Deno.test("FileRepository.claim() is for one gateway, and does not hold up registrations", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  using _claimed = await repository.claim();
  await assert.rejects(
    new FileRepository(folder.path).claim(),
    refusal(
      "conflict",
      new RegExp(`\\(pid ${Deno.pid}\\) serves .+\\. Stop it, or .+--repository$`),
    ),
  );
  assert.deepEqual(await repository.list(), []);
});
