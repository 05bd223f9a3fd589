import assert from "node:assert/strict";
import { RunTimes } from "../../../models/cpu/run_times.ts";

Deno.test("RunTimes runs in place what is expected to be short, and nothing that is unknown", () => {
  assert.equal(new RunTimes().preferInPlace(20), true);
  assert.equal(new RunTimes().preferInPlace(500), false);
  assert.equal(new RunTimes().preferInPlace(Infinity), false);
});

Deno.test("RunTimes believes a quiet trial more than what it sees from a busy event loop", () => {
  const times = new RunTimes(40);
  assert.equal(times.preferInPlace(Infinity), true);
  times.hopped(5000);
  assert.equal(times.preferInPlace(Infinity), true);
  assert.equal(new RunTimes(400).preferInPlace(Infinity), false);
});

Deno.test("RunTimes tries in place what only looked long from the event loop", () => {
  const times = new RunTimes();
  times.hopped(700);
  assert.equal(times.preferInPlace(Infinity), true);
  times.ranInPlace(30);
  assert.equal(times.preferInPlace(Infinity), true);
});

Deno.test("RunTimes holds the event loop once in a hundred runs at most for what is long", () => {
  const times = new RunTimes();
  times.hopped(700);
  let inPlace = 0;
  for (let run = 0; run < 3000; run++) {
    if (times.preferInPlace(Infinity)) {
      inPlace++;
      times.ranInPlace(600);
    } else times.hopped(700);
  }
  assert.equal(inPlace, 30); // ten to begin with, then ten for each thousand
});

Deno.test("RunTimes never tries in place what takes a millisecond", () => {
  const times = new RunTimes();
  for (let run = 0; run < 3000; run++) {
    assert.equal(times.preferInPlace(Infinity), false);
    times.hopped(1200);
  }
});

Deno.test("RunTimes tries in place no further what takes a millisecond there", () => {
  const times = new RunTimes(40);
  assert.equal(times.preferInPlace(Infinity), true);
  times.ranInPlace(1600);
  assert.equal(times.preferInPlace(Infinity), false);
});

Deno.test("RunTimes stays in place through some runs that were held up, not through many", () => {
  const times = new RunTimes();
  for (let run = 0; run < 10; run++) times.ranInPlace(170);
  for (let run = 0; run < 6; run++) times.ranInPlace(400);
  assert.equal(times.preferInPlace(Infinity), true);
  for (let run = 0; run < 6; run++) times.ranInPlace(400);
  assert.equal(times.preferInPlace(Infinity), false);
});

Deno.test("RunTimes forgives a run that was held up", () => {
  const times = new RunTimes();
  times.ranInPlace(900); // the first pays for memory
  for (let run = 0; run < 5; run++) times.ranInPlace(20);
  times.ranInPlace(50_000);
  assert.equal(times.preferInPlace(Infinity), true);
});
