import assert from "node:assert/strict";
import {
  configJsonSchema,
  parseConfigFile,
  parseSetting,
  resolveConfig,
  SETTING_NAMES,
  settingFlag,
} from "../../server/config.ts";

const fault = (message: string) => ({ name: "SluiceError", code: "invalid_argument", message });

Deno.test("resolveConfig() fills in every default and turns sizes into bytes", () => {
  const config = resolveConfig({ port: 9000, memory: "2GB", maxQueueBytes: 1000 });
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 9000);
  assert.equal(config.memory, 2e9);
  assert.equal(config.maxBody, 64 * 2 ** 20);
  assert.equal(config.maxBodies, 2 ** 30);
  assert.equal(config.maxQueueBytes, 1000);
  assert.equal(config.repository, undefined);
});

Deno.test("resolveConfig() names the setting, what was given and what was expected", () => {
  assert.throws(
    () => resolveConfig({ port: 65536 }),
    fault('Setting "port" is 65536; expected a whole number from 0 to 65535'),
  );
});

Deno.test("parseConfigFile() takes settings and a $schema", () => {
  const text = JSON.stringify({ $schema: "./config.schema.json", memory: "1GiB", lanes: 2 });
  assert.deepEqual(parseConfigFile(text, "sluice.json"), { memory: "1GiB", lanes: 2 });
});

Deno.test("resolveConfig() takes the number of a GPU", () => {
  for (const device of ["cuda", "cuda:0", "cuda:12"]) {
    assert.equal(resolveConfig({ device }).device, device);
  }
});

Deno.test("parseConfigFile() suggests the near match of an unknown key", () => {
  assert.throws(
    () => parseConfigFile('{"maxBodyy": 1}', "sluice.json"),
    fault('Unknown setting "maxBodyy" in sluice.json; did you mean "maxBody"?'),
  );
  assert.throws(
    () => parseConfigFile('{"colour": 1}', "sluice.json"),
    fault('Unknown setting "colour" in sluice.json'),
  );
});

Deno.test("parseConfigFile() refuses what is no JSON object", () => {
  assert.throws(() => parseConfigFile("{", "a.json"), /^SluiceError: a.json is not valid JSON: /);
  for (const text of ["[]", "null", '"port"', "3"]) {
    assert.throws(
      () => parseConfigFile(text, "a.json"),
      fault("a.json must hold one JSON object with the settings"),
    );
  }
});

Deno.test("parseConfigFile() refuses values of the wrong kind or out of range", () => {
  const cases = {
    port: ["8000", 1.5, -1, 65536, null],
    host: ["", 5],
    device: ["gpu", "cuda:", "cuda:01", "cuda:-1", "cpu:0"],
    cudaDriver: [""],
    lanes: [0, "2", 1025],
    threads: [0, 1e9],
    drainTimeout: [1e10],
    memory: ["12Q", -1, 0, "0", {}],
    drainDelay: [-1, "1"],
    quiet: ["yes", 1],
  };
  for (const [key, values] of Object.entries(cases)) {
    for (const value of values) {
      assert.throws(
        () => parseConfigFile(JSON.stringify({ [key]: value }), "a.json"),
        (error: Error) =>
          error.message.startsWith(`"${key}" in a.json is ${JSON.stringify(value)}; expected `),
        `${key} ${JSON.stringify(value)}`,
      );
    }
  }
});

Deno.test("parseConfigFile() never repeats the admin key", () => {
  assert.throws(
    () => parseConfigFile('{"adminKey": "hush hush"}', "a.json"),
    fault('"adminKey" in a.json is not usable; expected printable ASCII without spaces'),
  );
});

Deno.test("parseSetting() reads numbers, sizes and text from flags", () => {
  assert.deepEqual(parseSetting("port", "0", "--port"), { port: 0 });
  assert.deepEqual(parseSetting("drainDelay", "0.5", "--drain-delay"), { drainDelay: 0.5 });
  assert.deepEqual(parseSetting("memory", "4GiB", "--memory"), { memory: "4GiB" });
  assert.deepEqual(parseSetting("policy", "fair", "--policy"), { policy: "fair" });
});

Deno.test("parseSetting() names the flag, what was given and what was expected", () => {
  assert.throws(
    () => parseSetting("port", "http", "--port"),
    fault('--port is "http"; expected a whole number from 0 to 65535'),
  );
  for (const text of ["", " ", "NaN", "Infinity", "1,5"]) {
    assert.throws(() => parseSetting("drainTimeout", text, "--drain-timeout"), text);
  }
});

Deno.test("settingFlag() gives every setting a flag, a sentence and an expectation", () => {
  assert.equal(settingFlag("tritonStatusCodes").flag, "--triton-status-codes");
  assert.equal(settingFlag("maxBody").default, "64MiB");
  for (const name of SETTING_NAMES) {
    const { flag, description, expected } = settingFlag(name);
    assert.match(flag, /^--[a-z]+(-[a-z]+)*$/);
    assert.match(description, /\.$/);
    assert.notEqual(expected, "");
  }
});

Deno.test("configJsonSchema() is what server/config.schema.json holds", async () => {
  const published = await Deno.readTextFile(
    new URL("../../server/config.schema.json", import.meta.url),
  );
  assert.deepEqual(JSON.parse(published), configJsonSchema(), "run deno task schema");
});
