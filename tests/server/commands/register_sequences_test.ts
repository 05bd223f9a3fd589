import assert from "node:assert/strict";
import { join } from "node:path";
import type { Model } from "../../../models/model.ts";
import { FileRepository } from "../../../models/repository.ts";
import { EXIT, type Run } from "../../../server/commands/command.ts";
import { models } from "../../../server/commands/models.ts";
import { register } from "../../../server/commands/register.ts";
import { resolveConfig } from "../../../server/config.ts";
import { startGateway } from "../../../server/main.ts";
import { descentModel, recurrentModel } from "../../fixtures/sequence_models.ts";
import { withFolder } from "../../fixtures/with_folder.ts";
import { RecordedIo } from "./recorded_io.ts";

const CARRY = ["--carry", "memory_next=memory", "--carry", "index=last"];

async function run(command: Run, ...argv: string[]) {
  const io = new RecordedIo({});
  const code = await command(argv, io);
  return { code, stdout: io.stdout, stderr: io.stderr };
}

/** Runs `test` with a file of such a model, and with flags for an empty repository. */
function withModel(
  { file }: Model,
  test: (source: string, repository: string) => Promise<void>,
) {
  return withFolder(async (folder) => {
    const [source, repository] = [join(folder, "net.onnx"), join(folder, "repository")];
    await Deno.writeFile(source, file.bytes!);
    await Deno.mkdir(repository);
    await test(source, repository);
  });
}

Deno.test("register --carry makes a model run in sequences, probes them and keeps the result", () =>
  withModel(recurrentModel(), async (source, repository) => {
    const flags = [...CARRY, "--max-idle", "2.5", "--checkpoint", "other"];
    const result = await run(register, "r", source, "--repository", repository, ...flags);
    assert.deepEqual([result.code, result.stderr], [EXIT.ok, ""]);
    assert.match(
      result.stdout,
      /\nIt runs in sequences: memory_next to memory, index to last\nSequences are joined, up to 32 rows: Trial sequences gave the same answers alone and together\nRequests are not joined: /,
    );
    assert.match(result.stdout, /an iteration needs .* more, a sequence \d+ B\.\n/);
    const [model] = await new FileRepository(repository).read("r");
    const { batching, maxIdleMicros, checkpoint } = model.sequence!;
    assert.deepEqual([batching.join, batching.probe], [true, false]);
    assert.deepEqual([maxIdleMicros, checkpoint], [2.5e6, "other"]);
    const shown = await run(models, "--repository", repository);
    assert.match(shown.stdout, /\nr +1 +ON DISK +- +- +- /);
    assert.match(
      shown.stdout,
      /\nr\/1: it runs in sequences: memory_next to memory, index to last; sequences are joined, up to/,
    );
  }));

Deno.test("register says of a model that cannot join sequences why", () =>
  withModel(descentModel(), async (source, repository) => {
    const flags = ["--repository", repository, "--carry", "w_next=w"];
    const { code, stdout } = await run(register, "descent", source, ...flags);
    assert.equal(code, EXIT.ok);
    assert.match(
      stdout,
      /\nSequences are not joined: Carried input "w" has no free dimension to join sequences along\n/,
    );
  }));

Deno.test("register refuses a carry that the model has no tensors for, and changes nothing", () =>
  withModel(recurrentModel(), async (source, repository) => {
    const flags = ["--repository", repository, "--carry", "y=memory"];
    const { code, stderr } = await run(register, "r", source, ...flags);
    assert.equal(code, EXIT.failed);
    assert.match(
      stderr,
      /r\/manifest\.json: "carry" has "y" to "memory": the output has the shape/,
    );
    assert.deepEqual(await new FileRepository(repository).list(), []);
  }));

Deno.test("register refuses flags of sequences that are wrong before it fetches anything", async () => {
  const cases: [string[], RegExp][] = [
    [["--carry", "memory"], /--carry is "memory"; expected an output and an input: OUTPUT=INPUT/],
    [["--carry", "memory="], /--carry is "memory="; expected/],
    [["--carry", "a=b", "--carry", "a=c"], /--carry names output "a" twice; expected one input/],
    [["--max-idle", "0"], /--max-idle is "0"; expected a number above 0/],
    [["--checkpoint", "../a"], /Model name "\.\.\/a" is not allowed/],
  ];
  for (const [flags, message] of cases) {
    const { code, stderr } = await run(register, "r", "./missing.onnx", ...flags);
    assert.equal(code, EXIT.usage);
    assert.match(stderr, message);
  }
});

Deno.test("models shows the open sequences of a gateway, and what their state takes", () =>
  withModel(recurrentModel(), async (source, repository) => {
    await run(register, "r", source, "--repository", repository, ...CARRY);
    const gateway = await startGateway(resolveConfig({ port: 0, repository }));
    try {
      const index = { name: "index", datatype: "INT64", shape: [1], data: [3] };
      const parameters = { sequence_id: 7, sequence_start: true };
      const response = await fetch(`${gateway.url}/v2/models/r/infer`, {
        method: "POST",
        body: JSON.stringify({ inputs: [index], parameters }),
      });
      assert.equal(response.status, 200, await response.text());
      const { stdout } = await run(models, "--server", gateway.url);
      assert.match(stdout, /^NAME .* SEQUENCES .*\nr +1 +READY .* 1 \(\d+ B\) +0 +1 /);
      assert.match(stdout, /\nr\/1: sequences are joined, up to 32 rows: Trial sequences gave/);
    } finally {
      await gateway.shutdown();
    }
  }));
