import assert from "node:assert/strict";
import { GraphResources } from "../../../ffi/cuda/graph.ts";
import { InFlight } from "../../../ffi/cuda/in_flight.ts";
import { Owned } from "../../../ffi/cuda/owned.ts";

class Thing extends Owned {
  constructor(label: string) {
    super(undefined, label, 1n);
  }

  protected override release(): void {}
}

function inUse(thing: Owned): boolean {
  try {
    thing.idle("cuTest");
    return false;
  } catch {
    return true;
  }
}

Deno.test("InFlight keeps objects until a mark behind them is finished", () => {
  const flight = new InFlight("stream");
  const [first, second] = [new Thing("first"), new Thing("second")];
  flight.keep(first);
  const mark = flight.mark;
  flight.keep(new ArrayBuffer(8));
  flight.keep(second);
  assert.deepEqual([inUse(first), inUse(second)], [true, true]);
  flight.finished(mark);
  assert.deepEqual([inUse(first), inUse(second)], [false, true]);
  flight.finished(mark);
  assert.deepEqual([inUse(first), inUse(second)], [false, true], "an old mark changes nothing");
  flight.finished();
  assert.equal(inUse(second), false);
});

Deno.test("InFlight counts an object as often as work uses it", () => {
  const flight = new InFlight("stream");
  const thing = new Thing("thing");
  flight.keep(thing);
  const mark = flight.mark;
  flight.keep(thing);
  flight.finished(mark);
  assert.ok(inUse(thing));
  flight.finished();
  assert.ok(!inUse(thing));
});

Deno.test("InFlight hands what came after a mark to another", () => {
  const stream = new InFlight("stream");
  const graph = new InFlight("graph");
  const [before, captured] = [new Thing("before"), new Thing("captured")];
  stream.keep(before);
  const mark = stream.mark;
  stream.keep(captured);
  stream.moveSince(mark, graph);
  stream.finished();
  assert.deepEqual([inUse(before), inUse(captured)], [false, true]);
  assert.equal(stream.mark, mark, "later marks count on from there");
  graph.finished();
  assert.ok(!inUse(captured));
});

Deno.test("InFlight hands over all that is left when the mark is finished already", () => {
  const stream = new InFlight("stream");
  const graph = new InFlight("graph");
  const thing = new Thing("thing");
  stream.keep(new ArrayBuffer(8));
  stream.keep(new ArrayBuffer(8));
  const mark = stream.mark - 1;
  stream.finished();
  stream.keep(thing);
  stream.moveSince(mark, graph);
  stream.finished();
  assert.ok(inUse(thing));
  graph.finished();
});

Deno.test("InFlight lets an object go that turns out to be unused when it is to be disposed", () => {
  const flight = new InFlight("stream", () => flight.finished());
  using thing = new Thing("thing");
  flight.keep(thing);
  assert.ok(!inUse(thing));
});

Deno.test("GraphResources keeps an object once, however often it is used", () => {
  const resources = new GraphResources("graph");
  using thing = new Thing("thing");
  for (let i = 0; i < 3; i++) resources.keep(thing);
  assert.equal(resources.mark, 1);
  assert.ok(inUse(thing));
  resources.drop();
  assert.ok(!inUse(thing));
});
