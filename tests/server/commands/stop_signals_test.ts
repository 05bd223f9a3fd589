import assert from "node:assert/strict";
import { stopSignals } from "../../../server/commands/stop_signals.ts";
import { RecordedIo } from "./recorded_io.ts";

Deno.test("stopSignals() takes a burst for one signal, and a later one for the second", async () => {
  const io = new RecordedIo();
  let now = 1000;
  let stoppedTwice = false;
  using signals = stopSignals(io, () => now);
  const second = signals.second.then(() => stoppedTwice = true);
  io.stop();
  io.stop();
  now += 400;
  io.stop();
  await signals.first;
  assert.equal(stoppedTwice, false);
  now += 200;
  io.stop();
  await second;
  assert.equal(stoppedTwice, true);
});
