import assert from "node:assert/strict";
import { join } from "node:path";
import { JsonLinesFile } from "../../server/json_lines.ts";
import { withFolder } from "../fixtures/with_folder.ts";

const unexpected = (message: string) => assert.fail(message);

Deno.test("JsonLinesFile writes every entry as a line, in order, before it is closed", () =>
  withFolder(async (folder) => {
    const path = join(folder, "decisions.jsonl");
    const entries = Array.from({ length: 5000 }, (_, at) => ({ at, event: "arrive" }));
    {
      await using log = await JsonLinesFile.open(path, unexpected);
      for (const entry of entries) {
        log.write(entry);
        if (entry.at % 1000 === 0) await Promise.resolve();
      }
    }
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line)), entries);
  }));

Deno.test("JsonLinesFile appends to what is there", () =>
  withFolder(async (folder) => {
    const path = join(folder, "decisions.jsonl");
    for (const at of [1, 2]) {
      await using log = await JsonLinesFile.open(path, unexpected);
      log.write({ at });
    }
    assert.equal(await Deno.readTextFile(path), '{"at":1}\n{"at":2}\n');
  }));

Deno.test("JsonLinesFile.open() names the file that cannot be written", () =>
  withFolder(async (folder) => {
    const path = join(folder, "missing", "decisions.jsonl");
    await assert.rejects(
      JsonLinesFile.open(path, unexpected),
      (error: Error) => error.message.startsWith(`Cannot write ${path}: `),
    );
  }));

Deno.test({
  name: "JsonLinesFile reports a full disk once and goes on without the log",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const reports: string[] = [];
    {
      await using log = await JsonLinesFile.open("/dev/full", (message) => reports.push(message));
      log.write({ at: 1 });
    }
    assert.equal(reports.length, 1);
    assert.match(reports[0], /^\/dev\/full ends here: .*space/i);
  },
});
