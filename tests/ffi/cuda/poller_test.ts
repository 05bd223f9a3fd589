import assert from "node:assert/strict";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { EventPoller, type PollScheduler } from "../../../ffi/cuda/poller.ts";

/** Time that passes when told to. */
class VirtualTime implements PollScheduler {
  micros = 0;
  kind: "none" | "soon" | "later" = "none";
  calledOff = 0;
  #turn: (() => void) | undefined;

  nowMicros(): number {
    return this.micros;
  }

  soon(turn: () => void): void {
    this.#set("soon", turn);
  }

  later(turn: () => void): () => void {
    this.#set("later", turn);
    return () => {
      this.calledOff++;
      this.kind = "none";
      this.#turn = undefined;
    };
  }

  /** Runs the turn that is due. */
  step(): void {
    const turn = this.#turn;
    assert.ok(turn !== undefined, "no turn is due");
    this.micros += this.kind === "soon" ? 10 : 1000;
    this.kind = "none";
    this.#turn = undefined;
    turn();
  }

  #set(kind: "soon" | "later", turn: () => void): void {
    assert.equal(this.#turn, undefined, "one turn at a time");
    this.kind = kind;
    this.#turn = turn;
  }
}

/** Fires when told to. */
class FakeEvent {
  state: "pending" | "fired" | CudaError = "pending";
  queries = 0;

  query(): boolean {
    this.queries++;
    if (this.state instanceof CudaError) throw this.state;
    return this.state === "fired";
  }
}

Deno.test("watch() calls back in the turn after the event has fired, and then rests", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  assert.equal(time.kind, "none", "nothing is scheduled before there is something to watch");
  const event = new FakeEvent();
  const fired: unknown[] = [];
  poller.watch(event, (error) => fired.push(error));
  time.step();
  assert.deepEqual(fired, []);
  assert.equal(poller.size, 1);
  event.state = "fired";
  time.step();
  assert.deepEqual(fired, [undefined]);
  assert.equal(poller.size, 0);
  assert.equal(time.kind, "none");
  assert.equal(event.queries, 2, "one a turn");
});

Deno.test("watch() never calls back at once", () => {
  const time = new VirtualTime();
  const event = new FakeEvent();
  event.state = "fired";
  let fired = false;
  new EventPoller(time).watch(event, () => fired = true);
  assert.equal(fired, false);
  time.step();
  assert.equal(fired, true);
});

Deno.test("watch() calls back in the order of watching", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const fired: number[] = [];
  const events = [0, 1, 2, 3].map((index) => {
    const event = new FakeEvent();
    poller.watch(event, () => fired.push(index));
    return event;
  });
  events[2].state = events[0].state = "fired";
  time.step();
  assert.deepEqual(fired, [0, 2]);
  events[3].state = events[1].state = "fired";
  time.step();
  assert.deepEqual(fired, [0, 2, 1, 3]);
});

Deno.test("watch() keeps the order of events that fire while others are asked", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const fired: string[] = [];
  const [first, second] = [new FakeEvent(), new FakeEvent()];
  poller.watch(first, () => fired.push("first"));
  poller.watch({
    query() {
      first.state = "fired"; // on the device, before the second, but after it was asked
      return true;
    },
  }, () => fired.push("second"));
  poller.watch(second, () => fired.push("never"));
  time.step();
  assert.deepEqual(fired, ["first", "second"]);
  assert.equal(poller.size, 1);
});

Deno.test("watch() hands a fault to each callback", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const fault = new CudaError("cuEventQuery", 700, "an illegal address");
  const seen: unknown[] = [];
  for (const name of ["first", "second"]) {
    const event = new FakeEvent();
    event.state = fault;
    poller.watch(event, (error) => seen.push([name, error]));
  }
  time.step();
  assert.deepEqual(seen, [["first", fault], ["second", fault]]);
  assert.equal(time.kind, "none");
});

Deno.test("EventPoller asks in every turn at first, and every millisecond after a while", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  poller.watch(new FakeEvent(), () => {});
  let eager = 0;
  while (time.kind === "soon") {
    time.step();
    eager++;
  }
  assert.equal(eager, 2000, "20 ms in turns of 10 us");
  assert.equal(time.kind, "later");
  time.step();
  assert.equal(time.kind, "later");
});

Deno.test("EventPoller is eager again once an event has fired", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const [short, long] = [new FakeEvent(), new FakeEvent()];
  poller.watch(short, () => {});
  poller.watch(long, () => {});
  while (time.kind === "soon") time.step();
  short.state = "fired";
  time.step();
  assert.equal(time.kind, "soon");
});

Deno.test("EventPoller is eager again for a new event, and calls the slow turn off", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  poller.watch(new FakeEvent(), () => {});
  while (time.kind === "soon") time.step();
  poller.watch(new FakeEvent(), () => {});
  assert.equal(time.calledOff, 1);
  assert.equal(time.kind, "soon");
});

Deno.test("EventPoller watches what a callback adds", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const [first, second] = [new FakeEvent(), new FakeEvent()];
  const fired: string[] = [];
  poller.watch(first, () => {
    fired.push("first");
    poller.watch(second, () => fired.push("second"));
  });
  first.state = second.state = "fired";
  time.step();
  assert.deepEqual(fired, ["first"]);
  time.step();
  assert.deepEqual(fired, ["first", "second"]);
  assert.equal(time.kind, "none");
});

Deno.test("EventPoller serves the others when a callback throws", () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const fired: string[] = [];
  for (const name of ["bad", "good"]) {
    const event = new FakeEvent();
    event.state = "fired";
    poller.watch(event, () => {
      fired.push(name);
      if (name === "bad") throw new Error("a mistake");
    });
  }
  assert.throws(() => time.step(), /a mistake/);
  time.step();
  assert.deepEqual(fired, ["bad", "good"]);
  assert.equal(time.kind, "none");
});

Deno.test("done() settles with the event", async () => {
  const time = new VirtualTime();
  const poller = new EventPoller(time);
  const [good, bad] = [new FakeEvent(), new FakeEvent()];
  const settled = [poller.done(good), poller.done(bad)];
  good.state = "fired";
  bad.state = new CudaError("cuEventQuery", 719, "a failed launch");
  time.step();
  await settled[0];
  await assert.rejects(settled[1], bad.state);
});

Deno.test("EventPoller works on the event loop, and leaves no timer", async () => {
  const event = new FakeEvent();
  const poller = new EventPoller();
  const done = poller.done(event);
  event.state = "fired";
  await done;
  assert.equal(poller.size, 0);
});
