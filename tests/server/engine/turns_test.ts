import assert from "node:assert/strict";
import { Turns } from "../../../server/engine/turns.ts";

/** Turns of so many decisions, each of which takes some time, and what became of them. */
function turnsOf(decisions: number, microsEach: number) {
  const soon: (() => void)[] = [];
  const events: string[] = [];
  let nowMicros = 0;
  const turns: Turns = new Turns({
    clock: {
      nowMicros: () => nowMicros,
      at: () => ({ cancel() {} }),
      soon: (callback) => void soon.push(callback),
    },
    begins: () => events.push("begins"),
    decide: () => {
      turns.plan();
      turns.take();
      nowMicros += microsEach;
      events.push(`${nowMicros}`);
      return --decisions > 0;
    },
    ended: () => events.push("ended"),
  });
  return { turns, soon, events };
}

Deno.test("Turns.plan() takes one turn soon, however often it is called", () => {
  const { turns, soon, events } = turnsOf(2, 1);
  turns.plan();
  turns.plan();
  assert.deepEqual([events, soon.length], [[], 1]);
  soon.pop()!();
  assert.deepEqual(events, ["begins", "1", "2", "ended"]);
  assert.equal(soon.length, 0, "what is planned or taken inside a turn is part of it");
});

Deno.test("Turns.take() lets the event loop have its turn after a millisecond", () => {
  const { turns, soon, events } = turnsOf(6, 400);
  turns.take();
  assert.deepEqual(events.splice(0), ["begins", "400", "800", "1200", "1600", "ended"]);
  assert.equal(soon.length, 1);
  soon.pop()!();
  assert.deepEqual(events, ["begins", "2000", "2400", "ended"]);
});

Deno.test("Turns takes none by itself when it is driven", () => {
  const { turns, soon, events } = turnsOf(2, 1);
  turns.selfDriven = false;
  turns.plan();
  turns.take();
  assert.deepEqual([events, soon.length], [[], 0]);
});
