import assert from "node:assert/strict";
import { join } from "node:path";
import { FileRepository } from "../../../models/repository.ts";
import { EXIT, type Run } from "../../../server/commands/command.ts";
import { models } from "../../../server/commands/models.ts";
import { register } from "../../../server/commands/register.ts";
import { unregister } from "../../../server/commands/unregister.ts";
import { resolveConfig } from "../../../server/config.ts";
import { startGateway } from "../../../server/main.ts";
import {
  constantModel,
  externalDataModel,
  int64,
  mlpModel,
  onnxModel,
  scaleModel,
  sequenceAxisModel,
  truncated,
} from "../../fixtures/onnx.ts";
import { withFolder } from "../../fixtures/with_folder.ts";
import { RecordedIo } from "./recorded_io.ts";

/** Runs `test` with a temporary folder and an empty repository in it. */
function withRepository(test: (folder: string, repository: string) => Promise<void>) {
  return withFolder(async (folder) => {
    const repository = join(folder, "repository");
    await Deno.mkdir(repository);
    await test(folder, repository);
  });
}

async function run(
  command: Run,
  argv: readonly string[],
  variables?: Record<string, string>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = new RecordedIo(variables);
  const code = await command(argv, io);
  return { code, stdout: io.stdout, stderr: io.stderr };
}

async function write(path: string, bytes: Uint8Array): Promise<string> {
  await Deno.writeFile(path, bytes);
  return path;
}

/** Runs on an even number of values only. */
function pairsModel(): Uint8Array<ArrayBuffer> {
  return onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n"] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [2, "pairs"] }],
    initializers: [{ name: "shape", datatype: "INT64", shape: [2], raw: int64([2, -1]) }],
    nodes: [{ op: "Reshape", inputs: ["x", "shape"], outputs: ["y"] }],
  });
}

Deno.test("register adds a model, shows its signature and whether requests are joined", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const flags = ["--max-batch", "8", "--priority", "3", "--weight", "2.5", "--pin"];
    const result = await run(register, [
      ...["double", source, "--repository", repository],
      ...flags,
    ]);
    assert.deepEqual([result.code, result.stderr], [EXIT.ok, ""]);
    assert.match(result.stdout, /^Registered double\/1 \(\d+ B\) at /);
    assert.match(result.stdout, /input +x +FP32 +\[batch, 4\]\n/);
    assert.match(result.stdout, /output +y +FP32 +\[batch, 4\]\n/);
    assert.match(result.stdout, /\nRequests are joined, up to 8 rows: /);
    const [model] = await new FileRepository(repository).read("double");
    assert.equal(model.batching.join, true);
    assert.equal(model.batching.maxRows, 8);
    assert.deepEqual([model.priority, model.weight, model.pin], [3, 2.5, true]);
  }));

Deno.test("register says why requests are not joined", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "sums.onnx"), sequenceAxisModel());
    const { code, stdout } = await run(register, [
      ...["sums", source, "--repository", repository],
    ]);
    assert.equal(code, EXIT.ok);
    assert.match(stdout, /\nRequests are not joined: .+\n/);
    const [model] = await new FileRepository(repository).read("sums");
    assert.equal(model.batching.join, false);
  }));

Deno.test("register takes the next version, and refuses one that is there", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const argv = ["double", source, "--repository", repository, "--no-trial"];
    assert.equal((await run(register, argv)).code, EXIT.ok);
    assert.match((await run(register, argv)).stdout, /^Registered double\/2 /);
    const again = await run(register, [...argv, "--version", "1"]);
    assert.deepEqual([again.code, again.stdout], [EXIT.failed, ""]);
    assert.match(again.stderr, /^Error: Model "double" has a version 1 already\. .*next is 3.*\n$/);
  }));

Deno.test("register takes all versions of a model's folder, or the one that --version names", () =>
  withRepository(async (folder, repository) => {
    const source = join(folder, "source");
    for (const version of ["2", "10"]) {
      await Deno.mkdir(join(source, version), { recursive: true });
      await write(join(source, version, "model.onnx"), scaleModel(Number(version)));
    }
    const into = ["--repository", repository];
    const all = await run(register, ["all", source, ...into]);
    assert.equal(all.code, EXIT.ok);
    assert.deepEqual(
      [...all.stdout.matchAll(/^Registered \S+/gm)].map(([line]) => line),
      ["Registered all/2", "Registered all/10"],
    );
    assert.match(
      all.stderr,
      /^Warning: of all version 10 is served and 2 is not; "version_policy"/,
    );
    const one = await run(register, ["one", source, "--version", "2", ...into]);
    assert.deepEqual([one.code, one.stderr], [EXIT.ok, ""]);
    assert.match(one.stdout, /^Registered one\/2 /);
    const none = await run(register, ["none", source, "--version", "3", ...into]);
    assert.equal(none.code, EXIT.failed);
    assert.match(none.stderr, /^Error: .* has no version 3; it has 2, 10\. /);
    assert.deepEqual(await new FileRepository(repository).list(), ["all", "one"]);
  }));

Deno.test("register says that settings hold for all versions", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const argv = ["double", source, "--repository", repository, "--no-trial"];
    assert.doesNotMatch((await run(register, argv)).stdout, /settings/);
    const { stdout } = await run(register, [...argv, "--weight", "2"]);
    assert.match(stdout, /\nThe settings hold for all versions of double\n$/);
  }));

Deno.test("register warns when the version policy cannot be kept", () =>
  withRepository(async (folder, repository) => {
    const source = join(folder, "source");
    await Deno.mkdir(source);
    await write(join(source, "model.onnx"), scaleModel(2));
    const config = "version_policy { specific { versions: 7 } }";
    await Deno.writeTextFile(join(source, "config.pbtxt"), config);
    const { code, stderr } = await run(register, ["m", source, "--repository", repository]);
    assert.equal(code, EXIT.ok);
    assert.match(stderr, /^Warning: m cannot be served as it is: .*names version 7/);
  }));

Deno.test("register refuses what is no model that loads, and changes nothing", () =>
  withRepository(async (folder, repository) => {
    const outside = externalDataModel("../../secret.bin").model;
    const cases = {
      truncated: truncated(scaleModel(2)),
      text: new TextEncoder().encode("not a model\n"),
      empty: new Uint8Array(),
      outside,
    };
    for (const [name, bytes] of Object.entries(cases)) {
      const source = await write(join(folder, `${name}.onnx`), bytes);
      const result = await run(register, [name, source, "--repository", repository]);
      assert.deepEqual([result.code, result.stdout], [EXIT.failed, ""], name);
      assert.match(result.stderr, /^Error: .+\n$/);
    }
    assert.deepEqual(await new FileRepository(repository).list(), []);
    const left = (await Array.fromAsync(Deno.readDir(repository))).map((entry) => entry.name);
    assert.deepEqual(left.filter((name) => name !== ".lock"), []);
  }));

Deno.test("register refuses names, sources and flags that cannot be meant", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const into = ["--repository", repository];
    const cases: [readonly string[], number, RegExp][] = [
      [["../double", source, ...into], EXIT.failed, /Model name "\.\.\/double" is not allowed/],
      [["double", join(folder, "missing.onnx"), ...into], EXIT.failed, /missing\.onnx is missing/],
      [["double", "ftp://example.org/m.onnx", ...into], EXIT.failed, /"ftp:" is not understood/],
      [["double", "https://example.org/m.onnx", ...into], EXIT.failed, /a URL needs the SHA-256/],
      [["double", source, "--sha256", "0".repeat(64), ...into], EXIT.failed, /has the SHA-256 /],
      [
        ["double", source, "--repository", join(folder, "no")],
        EXIT.failed,
        /no model repository/,
      ],
      [["../double", "nowhere.onnx", ...into], EXIT.failed, /Model name .* is not allowed/],
      [["double", source, "--sha256", "zz", ...into], EXIT.usage, /--sha256 is "zz"; expected 64/],
      [["double", source, "--version", "0", ...into], EXIT.usage, /--version is "0"; expected/],
      [["double", source, "--weight", "none", ...into], EXIT.usage, /--weight is "none"; expected/],
      [["double", source, "--server", "a:1", ...into], EXIT.usage, /are both given/],
      [["double", source, "--prority", "1"], EXIT.usage, /Did you mean --priority\?/],
      [["double"], EXIT.usage, /Missing required argument 'source'/],
    ];
    for (const [argv, code, message] of cases) {
      const result = await run(register, argv);
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, message);
    }
    assert.deepEqual(await new FileRepository(repository).list(), []);
  }));

Deno.test("register warns of a model that does not run on zeros, and takes it", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "pairs.onnx"), pairsModel());
    const result = await run(register, ["pairs", source, "--repository", repository]);
    assert.equal(result.code, EXIT.ok);
    assert.match(result.stderr, /^Warning: pairs\/1 did not run on zeros: .+\n$/);
  }));

Deno.test("register run twice at once gives one version to one and refuses the other", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const argv = ["double", source, "--version", "1", "--repository", repository];
    const results = await Promise.all([run(register, argv), run(register, argv)]);
    assert.deepEqual(results.map(({ code }) => code).sort(), [EXIT.ok, EXIT.failed]);
    assert.match(results.map(({ stderr }) => stderr).join(""), /^Error: .*version 1 already/);
    assert.equal((await new FileRepository(repository).read("double")).length, 1);
  }));

Deno.test("register run at once for different models registers both", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const results = await Promise.all(
      ["a", "b", "c"].map((name) => run(register, [name, source, "--repository", repository])),
    );
    assert.deepEqual(results.map(({ code }) => code), [EXIT.ok, EXIT.ok, EXIT.ok]);
    assert.deepEqual(await new FileRepository(repository).list(), ["a", "b", "c"]);
  }));

Deno.test("unregister removes a version or a model, and suggests the near match", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const into = ["--repository", repository];
    for (const version of ["1", "2"]) {
      await run(register, ["double", source, "--version", version, "--no-trial", ...into]);
    }
    const first = await run(unregister, ["double", "--version", "1", ...into]);
    assert.equal(first.stdout, `Took double/1 out of ${repository}\n`);
    const [model] = await new FileRepository(repository).read("double");
    assert.equal(model.version, 2);
    assert.deepEqual(await run(unregister, ["duoble", ...into]), {
      code: EXIT.failed,
      stdout: "",
      stderr: `Error: There is no model "duoble" at ${repository}; did you mean "double"?\n`,
    });
    assert.equal((await run(unregister, ["double", ...into])).code, EXIT.ok);
    assert.deepEqual(await new FileRepository(repository).list(), []);
  }));

Deno.test("register, models and unregister work on a running gateway", () =>
  withRepository(async (folder, repository) => {
    const gateway = await startGateway(
      resolveConfig({ port: 0, repository, adminKey: "secret" }),
    );
    const server = ["--server", gateway.url];
    try {
      const source = await write(join(folder, "double.onnx"), mlpModel());
      const refused = await run(register, ["double", source, ...server]);
      assert.equal(refused.code, EXIT.failed);
      assert.match(refused.stderr, /^Error: http:\S+ refused: .*admin key.*\n$/);
      const key = { SLUICE_ADMIN_KEY: "secret" };
      const added = await run(register, ["double", source, "--priority", "7", ...server], key);
      assert.equal(added.code, EXIT.ok, added.stderr);
      assert.match(added.stdout, /^Registered double\/1 /);
      assert.doesNotMatch(added.stdout, /settings|instead/);
      assert.equal(gateway.engine.find("double").model.priority, 7);
      assert.deepEqual(await new FileRepository(repository).list(), []);

      const twice = await run(register, ["double", source, "--version", "1", ...server], key);
      assert.equal(twice.code, EXIT.failed);
      assert.match(twice.stderr, /serves a version 1 of "double" already/);
      const replacing = await run(register, ["double", source, ...server], key);
      assert.match(replacing.stdout, /^Registered double\/2 /);
      assert.match(replacing.stdout, /\nIt is served instead of version 1\n$/);
      assert.deepEqual(gateway.engine.versions("double").map(({ model }) => model.version), [2]);
      await run(register, ["constant", await write(source, constantModel()), ...server], key);

      const { stdout } = await run(models, [...server, "--json"]);
      const rows: Record<string, unknown>[] = JSON.parse(stdout);
      assert.deepEqual(rows.map(({ name, version, state }) => [name, version, state]), [
        ["constant", "1", "READY"],
        ["double", "2", "READY"],
      ]);
      assert.ok(Number(rows[1].persistentBytes) > 0);
      assert.deepEqual([rows[1].queued, rows[1].requests], [0, 0]);
      assert.match(
        String(rows[0].note),
        /^requests are not joined: No input leads with a free dimension$/,
      );

      const gone = await run(unregister, ["double", ...server, "--admin-key", "secret"]);
      assert.deepEqual([gone.code, gone.stderr], [EXIT.ok, ""]);
      assert.deepEqual(gateway.engine.versions("double"), []);
    } finally {
      await gateway.shutdown();
    }
    const late = await run(models, server);
    assert.equal(late.code, EXIT.failed);
    assert.match(late.stderr, /^Error: No gateway answers at http:\S+: Connection refused/);
  }));

Deno.test("models shows the p50 and p99 of what was asked", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    await run(register, ["double", source, "--repository", repository]);
    const gateway = await startGateway(resolveConfig({ port: 0, repository }));
    try {
      for (let i = 0; i < 20; i++) {
        const response = await fetch(`${gateway.url}/v2/models/double/infer`, {
          method: "POST",
          body: JSON.stringify({
            inputs: [{ name: "x", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }],
          }),
        });
        await response.body?.cancel();
      }
      const { stdout } = await run(models, ["--server", gateway.url]);
      assert.match(
        stdout,
        /^NAME .*\ndouble +1 +READY +\S+ \w+ +\S+ \w+ +- +0 +20 +[\d.]+ ms +[\d.]+ ms\n\ndouble\/1: requests are joined, up to 32 rows: .+\n$/,
      );
    } finally {
      await gateway.shutdown();
    }
  }));

Deno.test("models shows what lies in a repository, the broken too", () =>
  withRepository(async (folder, repository) => {
    const source = await write(join(folder, "double.onnx"), scaleModel(2));
    const into = ["--repository", repository];
    await run(register, ["double", source, ...into]);
    await Deno.mkdir(join(repository, "empty"));
    await Deno.mkdir(join(repository, "no name"));
    const { code, stdout, stderr } = await run(models, into);
    assert.equal(code, EXIT.ok);
    assert.match(
      stderr,
      /^Warning: Folder "no name" of .* is not served: expected a model's name, .*\n$/,
    );
    assert.match(stdout, /\ndouble +1 +ON DISK /);
    assert.match(stdout, /\nempty +- +UNAVAILABLE /);
    assert.match(stdout, /\ndouble\/1: requests are joined, up to 32 rows: /);
    assert.match(stdout, /\nempty: .*no version/);
  }));
