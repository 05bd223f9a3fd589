import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { loadPolicy, PolicyFileError } from "../../policies/load.ts";
import { withFolder } from "../fixtures/with_folder.ts";
import { queueView, snapshotOf } from "./views.ts";

const TEMPLATE = new URL("../../policies/template.ts", import.meta.url);

async function withFile(source: string, test: (path: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, "mine.ts");
    await Deno.writeTextFile(path, source);
    await test(path);
  });
}

Deno.test("loadPolicy() loads a copy of the template from anywhere", async () => {
  const source = await Deno.readTextFile(TEMPLATE);
  assert.ok(source.split("\n").length <= 61, "the template has at most 60 lines");
  await withFile(source, async (path) => {
    for (const from of [path, pathToFileURL(path).href]) {
      const definition = await loadPolicy(from);
      assert.equal(definition.name, "shortest_first");
      const long = queueView("long", { iterationMicros: () => 900 });
      const short = queueView("short", { iterationMicros: () => 100 });
      const decision = definition.create({ random: () => 0 }).next(snapshotOf([long, short]));
      assert.ok("run" in decision && decision.run === short);
    }
  });
});

const PROMISES = "promises: { noStarvation: false, workConserving: true }";
const CREATE = "create: () => ({ next() {} })";

const BAD: readonly [what: string, source: string, message: RegExp][] = [
  ["is no program", "export default {", /cannot be imported: /],
  ["throws", "throw new Error('boom');", /cannot be imported: boom/],
  ["exports nothing", "export const policy = {};", /no default export/],
  ["exports a function", "export default () => {};", /default export is a function/],
  ["exports null", "export default null;", /default export is null/],
  ["has no name", `export default { ${PROMISES}, ${CREATE} };`, /`name` is missing/],
  ["has a bad name", `export default { name: "My Own", ${PROMISES}, ${CREATE} };`, /"My Own"/],
  ["is called fifo", `export default { name: "fifo", ${PROMISES}, ${CREATE} };`, /built-in/],
  ["promises nothing", `export default { name: "mine", ${CREATE} };`, /`promises` is missing/],
  [
    "leaves a promise out",
    `export default { name: "mine", promises: { noStarvation: true }, ${CREATE} };`,
    /`promises.workConserving` is missing; expected true or false/,
  ],
  ["has no create", `export default { name: "mine", ${PROMISES} };`, /`create` is missing/],
  [
    "fails to create",
    `export default { name: "mine", ${PROMISES}, create() { throw new Error("boom"); } };`,
    /create\(\) threw boom/,
  ],
  [
    "creates nothing",
    `export default { name: "mine", ${PROMISES}, create() {} };`,
    /create\(\) returned nothing/,
  ],
  [
    "creates what decides nothing",
    `export default { name: "mine", ${PROMISES}, create: () => ({}) };`,
    /`next` is missing; expected a function/,
  ],
  [
    "ranks by a number",
    `export default { name: "mine", ${PROMISES}, create: () => ({ next() {}, rank: 1 }) };`,
    /`rank` is a number; expected a function/,
  ],
];

for (const [what, source, message] of BAD) {
  Deno.test(`loadPolicy() says what is wrong when the file ${what}`, async () => {
    await withFile(source, async (path) => {
      await assert.rejects(() => loadPolicy(path), (error) => {
        assert.ok(error instanceof PolicyFileError);
        assert.match(error.message, message);
        assert.ok(error.message.includes(path), "the message names the file");
        return true;
      });
    });
  });
}

Deno.test("loadPolicy() names the file when there is none", async () => {
  await assert.rejects(() => loadPolicy("no/such/policy.ts"), (error) => {
    assert.ok(error instanceof PolicyFileError);
    assert.match(error.message, /'no\/such\/policy.ts' cannot be imported/);
    return true;
  });
});
