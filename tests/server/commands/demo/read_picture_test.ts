import assert from "node:assert/strict";
import { EXIT } from "../../../../server/commands/command.ts";
import { readPictureCommand } from "../../../../server/commands/demo/read_picture.ts";
import { RecordedIo } from "../recorded_io.ts";

Deno.test("read-picture --help says where it asks, and its exit codes", async () => {
  const io = new RecordedIo();
  assert.equal(await readPictureCommand(["--help"], io), EXIT.ok);
  assert.match(
    io.stdout,
    /--server <url> +The gateway\. \(default: http:\/\/127\.0\.0\.1:8000\)\n/,
  );
  assert.match(io.stdout, /\nExit codes: 0 done; 1 failed; 2 wrong flags\.\n/);
});
