import assert from "node:assert/strict";
import type { SluiceError } from "../../../models/errors.ts";
import type { CostTable } from "../../../models/simulated/cost.ts";
import type { InferenceRequest, SequenceStep } from "../../../server/engine/api.ts";
import {
  input,
  openVirtualEngine,
  sequenceModel,
  testModel,
  type VirtualEngine,
} from "./fixture.ts";

const COSTS = new Map([["s", { byRows: [[1, 100]] as const }]]);
const open = (changes = {}, device = {}) =>
  openVirtualEngine([sequenceModel("s", changes), testModel("plain")], { costs: COSTS, ...device });

/** Sends one request of a sequence; what became of it appears in the array. */
function step(
  { engine }: VirtualEngine,
  sequence: Partial<SequenceStep>,
  changes: Partial<InferenceRequest> = {},
): (string | SluiceError)[] {
  const answers: (string | SluiceError)[] = [];
  engine.submit({
    served: engine.find("s"),
    id: "",
    inputs: [input(1, 1)],
    priority: 0,
    timeoutMicros: 0,
    sequence: { id: 7, start: false, end: false, ...sequence },
    respond: (outputs) =>
      void answers.push(`${outputs.map(({ name, data }) => `${name} ${data}`)}`),
    fail: (error) => void answers.push(error),
    ...changes,
  });
  return answers;
}

const pass = ({ clock }: VirtualEngine, micros: number) =>
  clock.advanceTo(clock.nowMicros() + micros);
const state = ({ engine }: VirtualEngine) => engine.find("s").stateBytes;
const START = /must specify the START flag on the first request of the sequence/;

Deno.test("requests of a sequence run in the order they came, each with the state of the one before", async () => {
  await using sluice = await open();
  const pipelined = [
    step(sluice, { start: true }),
    step(sluice, {}),
    step(sluice, {}),
    step(sluice, { end: true }),
  ];
  pass(sluice, 1000);
  const answers = pipelined.map(([answer]) => answer);
  assert.equal(new Set(answers).size, 4, "equal inputs, other states");
  assert.equal(state(sluice), 0);
  for (const [index, expected] of answers.entries()) {
    const [answer] = await oneByOne(sluice, { start: index === 0, end: index === 3 });
    assert.equal(answer, expected, "as when each waits for the answer before");
  }
});

function oneByOne(sluice: VirtualEngine, sequence: Partial<SequenceStep>) {
  const answers = step(sluice, sequence);
  pass(sluice, 200);
  return answers;
}

Deno.test("sequences of different names do not mix, a number and a string included", async () => {
  await using sluice = await open();
  const ids = [1, 2, "1"];
  const first = ids.map((id) => step(sluice, { id, start: true }));
  const second = ids.map((id) => step(sluice, { id, end: true }));
  pass(sluice, 2000);
  assert.equal(new Set(first.flat()).size, 1);
  assert.equal(new Set(second.flat()).size, 1);
  assert.notEqual(first[0][0], second[0][0]);
});

Deno.test("a request without its start is refused: never begun, ended, ended twice, abandoned", async () => {
  await using sluice = await open();
  const refused = (sequence: Partial<SequenceStep>) => {
    const [error] = step(sluice, sequence) as SluiceError[];
    assert.equal(error?.code, "invalid_argument");
    assert.match(error.message, START);
    assert.match(error.message, /sequence 7 to model 's'/);
  };
  refused({});
  refused({ end: true });
  step(sluice, { start: true });
  step(sluice, { end: true });
  refused({ end: true });
  pass(sluice, 1000);
  refused({ end: true });
  const abandoned = step(sluice, { start: true });
  pass(sluice, 1_000_200);
  assert.equal(abandoned.length, 1);
  assert.equal(state(sluice), 0, "freed after its idle limit");
  refused({});
});

Deno.test("a name that is reused begins anew; what the old sequence had is answered", async () => {
  await using sluice = await open();
  const old = [step(sluice, { start: true }), step(sluice, {})];
  const fresh = step(sluice, { start: true });
  assert.ok(state(sluice) > 0);
  pass(sluice, 1000);
  assert.equal(fresh[0], old[0][0]);
  assert.equal(old[1].length, 1);
  assert.notEqual(old[1][0], old[0][0]);
  assert.equal(sluice.engine.find("s").openSequences, 1);
});

Deno.test("a name that is reused stays with the new sequence when the old one fails", async () => {
  await using sluice = await open();
  sluice.send("plain");
  const old = step(sluice, { start: true }, { timeoutMicros: 5 });
  step(sluice, { start: true });
  pass(sluice, 1000);
  assert.match(`${old[0]}`, /timeout of 5 us/);
  const next = step(sluice, {});
  pass(sluice, 1000);
  assert.match(`${next[0]}`, /^y /);
});

Deno.test("a name whose new sequence was refused stands for none", async () => {
  await using sluice = await open({}, { memoryBytes: 2060 });
  const old = step(sluice, { start: true });
  step(sluice, { id: 8, start: true });
  const refused = step(sluice, { start: true });
  assert.equal((refused[0] as SluiceError).code, "queue_full");
  assert.match(`${step(sluice, {})[0]}`, START);
  pass(sluice, 1000);
  assert.equal(typeof old[0], "string");
  assert.match(`${step(sluice, {})[0]}`, START);
});

Deno.test("a request may follow from within the answer, or the failure, of the one before", async () => {
  const maxIdleMicros = 50; // less than an iteration takes
  await using sluice = await open({ maxIdleMicros });
  let last: (string | SluiceError)[] = [];
  const follow = () => void (last = step(sluice, {}));
  const failed = () => void step(sluice, {}, { inputs: [], fail: follow });
  step(sluice, { start: true }, { respond: () => void step(sluice, {}, { respond: failed }) });
  pass(sluice, 1000);
  assert.match(`${last}`, /^y /);
  assert.equal(sluice.engine.find("s").statistics.success.count, 3);
});

Deno.test("a request that fails leaves the sequence as it was", async () => {
  await using sluice = await open();
  const [first, second] = [await oneByOne(sluice, { start: true }), await oneByOne(sluice, {})];
  await oneByOne(sluice, { start: true });
  const gone = new AbortController();
  gone.abort();
  const bad = step(sluice, {}, { inputs: [input(2, 1)] });
  const left = step(sluice, {}, { signal: gone.signal });
  pass(sluice, 1);
  sluice.send("plain");
  pass(sluice, 1);
  const late = step(sluice, {}, { timeoutMicros: 1 });
  pass(sluice, 1000);
  assert.match(`${bad[0]}`, /one row/);
  assert.match(`${left[0]}`, /the client left/);
  assert.match(`${late[0]}`, /timeout of 1 us/);
  assert.notEqual(first[0], second[0]);
  assert.deepEqual(await oneByOne(sluice, {}), second);
});

Deno.test("a request's time runs while it is behind others of its sequence", async () => {
  const costs = new Map<string, CostTable>([...COSTS, ["plain", { byRows: [[1, 1000]] }]]);
  await using sluice = await open({}, { costs });
  step(sluice, { start: true });
  const behind = step(sluice, {}, { timeoutMicros: 100 });
  pass(sluice, 100);
  assert.match(`${behind[0]}`, /timeout of 100 us passed after 100 us/);
  step(sluice, {});
  const waits = step(sluice, {}, { timeoutMicros: 250 });
  pass(sluice, 50);
  sluice.send("plain"); // has the lane from 100 on
  pass(sluice, 201);
  assert.match(`${waits[0]}`, /timeout of/);
});

Deno.test("a sequence whose first request fails is not there", async () => {
  await using sluice = await open();
  const bad = step(sluice, { start: true }, { inputs: [] });
  assert.match(`${bad[0]}`, /missing required input/);
  assert.equal(state(sluice), 0);
  assert.match(`${step(sluice, {})[0]}`, START);
  const blocked = sluice.send("plain");
  const dropped = step(sluice, { start: true }, { timeoutMicros: 5 });
  const follower = step(sluice, {});
  pass(sluice, 1000);
  assert.ok(blocked[0].outputs);
  assert.match(`${dropped[0]}`, /timeout of 5 us/);
  assert.equal(follower.length, 1);
  assert.equal((follower[0] as SluiceError).code, "invalid_argument", "it is not late itself");
  assert.match(`${follower[0]}`, /has not begun, as its first request failed: timeout of 5 us/);
  assert.equal(state(sluice), 0);
});

Deno.test("requests that wait behind one another are bounded", async () => {
  await using sluice = await open();
  step(sluice, { start: true });
  const sent = Array.from({ length: 70 }, () => step(sluice, {}));
  const refused = sent.filter(([answer]) => (answer as SluiceError)?.code === "queue_full");
  assert.equal(refused.length, 7);
  pass(sluice, 10_000);
  assert.equal(sent.filter(([answer]) => typeof answer === "string").length, 63);
});

Deno.test("a model may want every request to be part of a sequence, and another none", async () => {
  await using sluice = await open({ required: true });
  const [without] = sluice.send("s");
  assert.match(
    without.error!.message,
    /model 's' must specify a non-zero or non-empty correlation ID/,
  );
  const [error] = step(sluice, { start: true }, { served: sluice.engine.find("plain") });
  assert.match((error as SluiceError).message, /no "carry"/);
});

Deno.test("sequences end with their model, between two requests", async () => {
  await using sluice = await open();
  const running = step(sluice, { start: true });
  const behind = step(sluice, {});
  pass(sluice, 50);
  const unloaded = sluice.engine.unload("s");
  await Promise.resolve();
  await Promise.resolve();
  pass(sluice, 1000);
  await unloaded;
  assert.equal(typeof running[0], "string", "what ran is answered");
  assert.equal((behind[0] as SluiceError).code, "not_ready");
});
