import assert from "node:assert/strict";
import { Alarm, SystemClock, VirtualClock } from "../../models/clock.ts";

Deno.test("SystemClock.at() waits in parts where the system's timers do not go so far", () => {
  const { setTimeout } = globalThis;
  const waits: { readonly then: () => void; readonly millis: number }[] = [];
  globalThis.setTimeout =
    ((then: () => void, millis: number) =>
      waits.push({ then, millis })) as unknown as typeof setTimeout;
  try {
    const clock = new SystemClock();
    clock.at(clock.nowMicros() + 1e15, () => assert.fail("thirty years are not over"));
    waits[0].then();
    assert.deepEqual(waits.map(({ millis }) => millis), [2 ** 31 - 1, 2 ** 31 - 1]);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

Deno.test("Alarm goes off once, at the earliest of the times asked for", () => {
  const clock = new VirtualClock();
  const calls: number[] = [];
  const alarm = new Alarm(clock, () => calls.push(clock.nowMicros()));
  for (const atMicros of [30, 10, 20]) alarm.setBy(atMicros);
  assert.equal(alarm.atMicros, 10);
  clock.advanceTo(100);
  assert.deepEqual(calls, [10]);
  alarm.clear();
  alarm.setBy(200);
  alarm.clear();
  clock.advanceTo(300);
  assert.deepEqual(calls, [10]);
});

Deno.test("VirtualClock.nextMicros is when the next call is due", () => {
  const clock = new VirtualClock();
  assert.equal(clock.nextMicros, Infinity);
  clock.at(20, () => {});
  clock.at(10, () => {});
  assert.equal(clock.nextMicros, 10);
  clock.advanceTo(10);
  assert.equal(clock.nextMicros, 20);
});
