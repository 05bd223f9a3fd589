import assert from "node:assert/strict";
import { fair } from "../../policies/fair.ts";
import type { LaneView, Policy, QueueView } from "../../policies/policy.ts";
import { assertShares, sharesOf } from "../conformance/policy_outcome.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { type MutableQueue, queueView, snapshotOf } from "./views.ts";

/** Drives the policy as the scheduler would, on lanes that take any number of iterations. */
class Driver {
  readonly policy: Policy = fair.create({ random: () => 0 });
  now = 0;
  readonly #running: { model: string; untilMicros: number }[] = [];

  /** Asks for a decision and starts it. */
  start(...ready: MutableQueue[]): string {
    const chosen = this.decide(ready);
    const queue = ready.find((queue) => queue === chosen)!;
    queue.lastServedMicros = this.now;
    this.#running.push({ model: queue.model, untilMicros: Infinity });
    return queue.model;
  }

  /** Asks for a decision that is not started. */
  decide(ready: readonly QueueView[]): QueueView {
    const lane: LaneView = { id: 0, bytes: 1, express: false, running: this.#running };
    const snapshot = { ...snapshotOf(ready, this.now), lane, lanes: [lane] };
    const decision = this.policy.next(snapshot);
    assert.ok("run" in decision);
    return decision.run;
  }

  finish(queue: QueueView, micros: number): void {
    this.lose(queue);
    this.policy.observe?.({ kind: "charge", queue, nowMicros: this.now, rows: 1, micros });
  }

  /** An iteration that ends without a charge. */
  lose(queue: QueueView): void {
    const index = this.#running.findIndex(({ model }) => model === queue.model);
    assert.notEqual(index, -1);
    this.#running.splice(index, 1);
  }

  arrive(queue: MutableQueue): void {
    queue.waitingSinceMicros = this.now;
    this.policy.observe?.({ kind: "arrival", queue, nowMicros: this.now });
  }
}

const queues = (...models: string[]) => models.map((model) => queueView(model));

Deno.test("fair does not give two lanes to the same queue while another waits", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  assert.equal(driver.start(a, b), "a");
  assert.equal(driver.start(a, b), "b");
});

Deno.test("fair leaves a queue that was ready all along its claim to what it did not take", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  assert.deepEqual([driver.start(a, b), driver.start(a, b)], ["a", "b"]);
  driver.finish(b, 500);
  let started = 1;
  while (driver.start(a, b) === "a") started++;
  assert.equal(started, 6, "up to the 500 of b, which starts again");
  while (started-- > 0) driver.finish(a, 1); // 100 were expected of each
  for (let i = 0; i < 4; i++) assert.equal(driver.start(a, b), "a");
});

Deno.test("fair charges what an iteration took, not what was expected of it", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  driver.start(a, b);
  driver.finish(a, 5); // 100 were expected
  driver.now = 1;
  driver.start(a, b);
  driver.finish(b, 20);
  driver.now = 2;
  for (let time = 5; time < 20; time += 5) {
    assert.equal(driver.start(a, b), "a");
    driver.finish(a, 5);
    driver.now++;
  }
  assert.equal(driver.start(a, b), "a");
  assert.equal(driver.start(a, b), "b");
});

Deno.test("fair takes back what was accounted for an iteration that was never started", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  driver.now = 10;
  assert.equal(driver.start(b), "b");
  assert.equal(driver.decide([a, b]), a);
  assert.equal(driver.start(a, b), "a");
});

Deno.test("fair takes back what was accounted for an iteration that was lost with the device", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  driver.start(a, b);
  driver.start(a, b);
  driver.finish(b, 50);
  driver.lose(a);
  driver.now = 10;
  assert.equal(driver.start(a, b), "a");
});

Deno.test("fair starts a queue that was idle level with what runs, not ahead nor behind", () => {
  const driver = new Driver();
  const [a, b, c] = queues("a", "b", "c");
  for (let turn = 0; turn < 10; turn++) {
    driver.start(a);
    driver.finish(a, 100);
    driver.now += 100;
  }
  driver.start(a); // its virtual time is 1000 when this begins
  driver.arrive(b);
  driver.arrive(c);
  assert.equal(driver.start(a, b, c), "b");
  assert.equal(driver.start(a, b, c), "c");
  driver.finish(b, 100);
  driver.finish(c, 150);
  driver.finish(a, 120);
  // b is at 1100, a at 1120, c at 1150.
  assert.equal(driver.start(a, b, c), "b");
  assert.equal(driver.start(a, b, c), "a");
  assert.equal(driver.start(a, b, c), "c");
});

Deno.test("fair starts level a queue that comes when nothing runs, or that brings its backlog", () => {
  for (const told of ["of its arrival", "of the queue", "of nothing"]) {
    const driver = new Driver();
    const [a, b] = queues("a", "b");
    for (let turn = 0; turn < 10; turn++) {
      driver.start(a);
      driver.finish(a, 100);
      driver.now += 100;
    }
    if (told === "of its arrival") driver.arrive(b);
    if (told === "of the queue") driver.policy.observe?.({ kind: "queue_added", queue: b });
    assert.equal(driver.start(a, b), "b", told); // from 900, where a's last began
    assert.equal(driver.start(a, b), "a", told); // both are at 1000
  }
});

Deno.test("fair keeps the place of a queue that waits when more arrives for it", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  driver.start(a, b);
  driver.policy.observe?.({ kind: "arrival", queue: b, nowMicros: 0 });
  driver.finish(a, 300);
  for (let turn = 0; turn < 3; turn++) {
    driver.now++;
    assert.equal(driver.start(a, b), "b");
    driver.policy.observe?.({ kind: "arrival", queue: b, nowMicros: driver.now });
    driver.finish(b, 90);
  }
});

Deno.test("fair lets a queue that no lane could run claim nothing for that time", () => {
  const driver = new Driver();
  const [a, b] = queues("a", "b");
  driver.start(a, b);
  driver.finish(a, 100);
  for (let turn = 0; turn < 5; turn++) {
    driver.now++;
    driver.start(a);
    driver.finish(a, 100);
  }
  for (const model of ["b", "a", "b", "a"]) { // from 500, where a's last began
    driver.now++;
    assert.equal(driver.start(a, b), model);
    driver.finish(model === "a" ? a : b, 110);
  }
});

Deno.test("fair starts a newcomer by what runs furthest back, not by a lane of its own", () => {
  const driver = new Driver();
  const [alone, shared, newcomer] = queues("alone", "shared", "newcomer");
  driver.start(shared); // at 0, for long
  for (let turn = 0; turn < 5; turn++) {
    driver.start(alone);
    driver.finish(alone, 1_000);
    driver.now += 1_000;
  }
  driver.arrive(newcomer);
  for (const micros of [4_000, 1_000]) {
    assert.equal(driver.start(alone, newcomer), "newcomer");
    driver.finish(newcomer, micros);
    driver.now += micros;
  }
  assert.equal(driver.start(alone, newcomer), "alone");
});

Deno.test("fair weighs what is expected as well as what is charged", () => {
  const driver = new Driver();
  const heavy = queueView("heavy", { weight: 3 });
  const light = queueView("light");
  const order = Array.from({ length: 8 }, () => driver.start(heavy, light));
  assert.equal(order.filter((model) => model === "heavy").length, 6);
});

Deno.test("fair shares by weight in every 5 s, costs spread tenfold and one joining half way", () => {
  const seconds = 1_000_000;
  const queues = [
    { model: "plain, short", micros: 1_000, backlog: 8 },
    { model: "plain, long", micros: 10_000, backlog: 8, weight: 2 },
    { model: "generations", micros: 3_000, backlog: 4, iterations: 200 },
    {
      model: "joins half way",
      micros: 5_000,
      backlog: 4,
      iterations: 50,
      addedMicros: 10 * seconds,
    },
  ];
  const outcome = simulate(fair, { queues, arrivals: [], untilMicros: 20 * seconds });
  for (let from = 0; from < 20 * seconds; from += 5 * seconds) {
    const present = queues.filter(({ addedMicros = 0 }) => addedMicros <= from);
    assertShares(outcome, present, from, from + 5 * seconds);
    const shares = sharesOf(outcome, from, from + 5 * seconds);
    const each = present.map(({ model, weight = 1 }) => shares.get(model)! / weight);
    const sum = each.reduce((sum, share) => sum + share, 0);
    const squares = each.reduce((sum, share) => sum + share ** 2, 0);
    const jain = sum ** 2 / (each.length * squares);
    assert.ok(jain >= 0.98, `Jain's index is ${jain}`);
  }
});
