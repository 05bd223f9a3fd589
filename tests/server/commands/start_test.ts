import assert from "node:assert/strict";
import { join } from "node:path";
import { EXIT } from "../../../server/commands/command.ts";
import { start } from "../../../server/commands/start.ts";
import { listen } from "../../../server/listener.ts";
import { scaleModel } from "../../fixtures/onnx.ts";
import { RecordedIo } from "./recorded_io.ts";
import { withFolder } from "../../fixtures/with_folder.ts";

/** Runs a start that is expected to end by itself. */
async function failedStart(
  argv: readonly string[],
  variables?: Record<string, string>,
): Promise<[number, string]> {
  const io = new RecordedIo(variables);
  const code = await start(argv, io);
  assert.equal(io.stdout, "");
  return [code, io.stderr];
}

Deno.test("start --help shows every flag, defaults and examples", async () => {
  const io = new RecordedIo();
  assert.equal(await start(["--help"], io), EXIT.ok);
  assert.match(io.stdout, /^Usage: deno task start \[options\]\n/);
  assert.match(io.stdout, /--port <port> .*\(default: 8000\)/);
  assert.match(io.stdout, /--triton-status-codes /);
  assert.match(io.stdout, /Examples:\n {2}deno task start\n/);
});

Deno.test("start suggests the near match of an unknown flag", async () => {
  assert.deepEqual(await failedStart(["--prot", "8000"]), [
    EXIT.usage,
    "Error: Unknown option '--prot' (Did you mean --port?)\n",
  ]);
});

Deno.test("start refuses flags that cannot be meant, before anything is opened", async () => {
  assert.deepEqual(await failedStart(["--port", "http"]), [
    EXIT.usage,
    'Error: --port is "http"; expected a whole number from 0 to 65535\n',
  ]);
  assert.deepEqual(await failedStart(["--memory", "lots"]), [
    EXIT.usage,
    'Error: --memory is "lots"; expected a size such as 512MiB, 2GB or a number of bytes\n',
  ]);
  const [tooMuch, tooMuchText] = await failedStart(["--memory", "1000000GiB"]);
  assert.equal(tooMuch, EXIT.usage);
  assert.match(
    tooMuchText,
    /^Error: Setting "memory" \(--memory\) is 977 TiB; expected at most /,
  );
  assert.deepEqual(await failedStart(["--policy", "fifoo"]), [
    EXIT.usage,
    'Error: --policy is "fifoo"; expected fifo, round_robin, fair, priority, srtf, edf, las_2d, lottery or the path of a file\n',
  ]);
  assert.deepEqual(await failedStart([], { SLUICE_ADMIN_KEY: "two words" }), [
    EXIT.usage,
    "Error: SLUICE_ADMIN_KEY is not usable; expected printable ASCII without spaces\n",
  ]);
  const [code, text] = await failedStart(["models"]);
  assert.equal(code, EXIT.usage);
  assert.match(text, /^Error: Too many arguments/);
});

Deno.test("start refuses a config file that is missing or wrong", () =>
  withFolder(async (folder) => {
    const path = join(folder, "sluice.json");
    const [missing, missingText] = await failedStart(["--config", path]);
    assert.equal(missing, EXIT.usage);
    assert.ok(missingText.startsWith(`Error: Config file ${path} cannot be read: `));
    // A byte order mark, which some editors write, is no part of the JSON.
    await Deno.writeTextFile(path, '\uFEFF{"polcy": "fair"}');
    assert.deepEqual(await failedStart(["--config", path]), [
      EXIT.usage,
      `Error: Unknown setting "polcy" in ${path}; did you mean "policy"?\n`,
    ]);
  }));

Deno.test("start fails when the port is in use, before any model is loaded", async () => {
  const other = listen("127.0.0.1", 0, () => new Response());
  const [code, text] = await failedStart(["--port", `${other.port}`, "--device", "simulated"]);
  assert.equal(code, EXIT.failed);
  assert.match(text, /^Error: Port \d+ of 127\.0\.0\.1 is in use by another process;.*\n$/);
  await other.close(5000);
});

Deno.test("start fails when the named repository or policy file is not there", () =>
  withFolder(async (folder) => {
    const missing = join(folder, "models");
    const argv = ["--port", "0", "--device", "simulated", "--repository"];
    const [code, text] = await failedStart([...argv, missing]);
    assert.equal(code, EXIT.failed);
    assert.equal(text, `Error: There is no model repository "${missing}"\n`);
    const [policyCode, policyText] = await failedStart([
      ...argv,
      folder,
      "--policy",
      join(folder, "mine.ts"),
    ]);
    assert.equal(policyCode, EXIT.failed);
    assert.match(policyText, /^Error: Policy file '.*mine\.ts' cannot be imported: .*\n$/);
  }));

Deno.test("start serves by config file and flags, drains at a signal and succeeds", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(join(folder, "models", "double", "1"), { recursive: true });
    await Deno.writeFile(join(folder, "models", "double", "1", "model.onnx"), scaleModel(2));
    const config = join(folder, "sluice.json");
    const settings = { port: 1, device: "simulated", policy: "fair", adminKey: "from-file" };
    await Deno.writeTextFile(config, JSON.stringify(settings));
    const io = new RecordedIo({ SLUICE_ADMIN_KEY: "from-environment" });
    const repository = join(folder, "models");
    const ended = start(["--config", config, "--port", "0", "--repository", repository], io);
    await io.wrote("Serving ");
    const [url] = /http:\S+/.exec(io.stderr)!;

    const ready = await fetch(`${url}/v2/models/double/ready`);
    assert.equal(ready.status, 200);
    await ready.body?.cancel();
    const policy = await (await fetch(`${url}/v2/policy`)).json();
    assert.equal(policy.name, "fair");
    const unload = (key: string) =>
      fetch(`${url}/v2/repository/models/double/unload`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
      });
    for (const [key, status] of [["from-file", 403], ["from-environment", 200]] as const) {
      const response = await unload(key);
      assert.equal(response.status, status);
      await response.body?.cancel();
    }

    io.stop();
    assert.equal(await ended, EXIT.ok);
    await assert.rejects(fetch(url));
  }));
