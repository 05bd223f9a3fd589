import assert from "node:assert/strict";
import { VirtualClock } from "../../models/clock.ts";
import type { Io } from "../../server/commands/io.ts";
import { RecordedIo } from "../server/commands/recorded_io.ts";
import { ProgressLine } from "./progress.ts";

/** What a command writes, and surroundings in which someone watches. */
function terminal(): { io: Io; written: RecordedIo } {
  const written = new RecordedIo();
  const { out, err, columns } = written;
  const nothing = { [Symbol.dispose]: () => {} };
  const io = { out, err, columns, interactive: true, env: () => undefined };
  return { io: { ...io, onStopSignal: () => nothing }, written };
}

const SAMPLE = {
  model: 0,
  intendedMicros: 0,
  readyMicros: 0,
  sentMicros: 1000,
  endMicros: 8000,
  outcome: "ok",
} as const;

Deno.test("ProgressLine says how a run is doing, twice a second, and takes itself away", () => {
  const clock = new VirtualClock();
  const { io, written } = terminal();
  {
    using line = new ProgressLine(io, clock, 11);
    line.begin("a alone");
    line.add(SAMPLE);
    line.add({ ...SAMPLE, outcome: "timeout" });
    clock.advanceTo(1_000_000);
    assert.ok(
      written.stderr.endsWith(
        "\r\x1b[2Ka alone: 1 s of 11, 2 done, 1 errors, p99 8 ms, lag p99 1 ms",
      ),
      JSON.stringify(written.stderr),
    );
    assert.equal(written.stderr.split("\r").length, 4);
    line.begin("all together");
    clock.advanceTo(1_500_000);
    assert.match(
      written.stderr,
      /all together: 1 s of 11, 0 done, 0 errors, p99 0 ms, lag p99 0 ms$/,
    );
  }
  assert.ok(written.stderr.endsWith("\r\x1b[2K"));
});

Deno.test("ProgressLine is silent where nobody watches", () => {
  const io = new RecordedIo();
  const clock = new VirtualClock();
  using line = new ProgressLine(io, clock, 11);
  line.begin("");
  clock.advanceTo(2_000_000);
  assert.equal(io.stderr, "");
});
