import assert from "node:assert/strict";
import { EXIT } from "../../server/commands/command.ts";
import { start } from "../../server/commands/start.ts";
import { serverMetadata } from "../../server/protocols/open_inference/metadata.ts";
import { VERSION } from "../../server/version.ts";
import { RecordedIo } from "./commands/recorded_io.ts";

Deno.test("VERSION is that of deno.json, and what the command line and the metadata give", async () => {
  const project = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  assert.equal(VERSION, project.version);
  const io = new RecordedIo();
  assert.equal(await start(["--version"], io), EXIT.ok);
  assert.equal(io.stdout, `${VERSION}\n`);
  assert.equal(serverMetadata().version, VERSION);
});
