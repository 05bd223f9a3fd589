import assert from "node:assert/strict";
import { withProgress } from "../../../server/commands/progress.ts";
import { RecordedIo } from "./recorded_io.ts";

Deno.test("withProgress() says what takes long", async () => {
  const io = new RecordedIo();
  const work = Promise.withResolvers<number>();
  const result = withProgress(io, "Fetching a model", work.promise, { quietMillis: 0 });
  await io.wrote("Fetching a model ...\n");
  work.resolve(7);
  assert.equal(await result, 7);
});

Deno.test("withProgress() says nothing when it is over soon, and passes errors on", async () => {
  const io = new RecordedIo();
  assert.equal(await withProgress(io, "Fetching a model", Promise.resolve(7)), 7);
  await assert.rejects(withProgress(io, "Fetching a model", Promise.reject(new Error("gone"))), {
    message: "gone",
  });
  assert.equal(io.stderr, "");
});
