import assert from "node:assert/strict";
import { within } from "../../server/within.ts";

Deno.test("within() tells work that is done from work that is not", async () => {
  assert.equal(await within(60_000, Promise.resolve()), true);
  assert.equal(await within(0, new Promise(() => {})), false);
});

Deno.test("within() passes the work's failure on", async () => {
  await assert.rejects(within(60_000, Promise.reject(new Error("gone"))), { message: "gone" });
});
