import assert from "node:assert/strict";
import { Descent, settled, valuesOf } from "../jobs/descent.ts";
import { type Answer, ask, errorOf, REMOTE, testApp } from "./exchange.ts";

const RATE = { name: "rate", datatype: "FP32", shape: [], data: [1] };

function setUp(capacity?: number) {
  const descent = new Descent(capacity);
  const app = testApp({ engine: descent.engine, jobs: descent.jobs });
  const call = (method: string, path: string, body?: Parameters<typeof ask>[3]) =>
    ask(app, method, path, body);
  return { descent, app, call };
}

const json = ({ text }: Answer) => JSON.parse(text);

Deno.test("POST /v2/jobs takes a job with all its fields, and answers 201", async () => {
  const { descent, call } = setUp();
  const answer = await call("POST", "/v2/jobs", {
    model: "descent",
    version: "1",
    name: "first try",
    iterations: 4,
    inputs: [RATE],
    priority: 3,
    tenant: "lab",
    checkpoint_every: 2,
  });
  assert.equal(answer.status, 201);
  const { id, created_ms, ...job } = json(answer);
  assert.match(id, /^[0-9a-f]{12}$/);
  assert.ok(Math.abs(Date.now() - created_ms) < 60_000);
  assert.deepEqual(job, {
    name: "first try",
    model: "descent",
    version: "1",
    state: "running",
    iterations: 4,
    iterations_done: 0,
    priority: 3,
    tenant: "lab",
    checkpoint_every: 2,
    metrics: {},
    checkpoints: [],
    run_seconds: 0,
    device_seconds: 0,
    curves: { iterations: [], values: {} },
  });
  const { inputs, priority, tenant } = descent.sequences[0].request;
  assert.deepEqual([priority, tenant, valuesOf(inputs![0])], [3, "lab", [1]]);
});

Deno.test("GET /v2/jobs/{id} shows a job with its curves, and GET /v2/jobs all without", async () => {
  const { descent, call } = setUp();
  const { id } = json(
    await call("POST", "/v2/jobs", { model: "descent", iterations: 3, inputs: [RATE] }),
  );
  descent.sequences[0].step(2);
  const { curves, ...shown } = json(await call("GET", `/v2/jobs/${id}`));
  assert.deepEqual(curves, { iterations: [1, 2], values: { loss: [10, 6] } });
  const { state, iterations_done, metrics, run_seconds, device_seconds, remaining_seconds } = shown;
  assert.deepEqual(
    { state, iterations_done, metrics, run_seconds, device_seconds, remaining_seconds },
    {
      state: "running",
      iterations_done: 2,
      metrics: { loss: 6 },
      run_seconds: 0.002,
      device_seconds: 0.002,
      remaining_seconds: 0.001,
    },
  );
  assert.deepEqual(json(await call("GET", "/v2/jobs")), { jobs: [shown] });
  descent.sequences[0].step();
  await settled(descent.jobs.find(id));
  const { checkpoints, ended_ms, ...done } = json(await call("GET", `/v2/jobs/${id}`));
  assert.equal(done.state, "completed");
  assert.deepEqual(checkpoints, [{ model: "descent", version: 2, iterations: 3 }]);
  assert.ok(ended_ms >= done.created_ms);
});

Deno.test("POST /v2/jobs goes on from a checkpoint, named with its version or without", async () => {
  const { descent, call } = setUp();
  for (const resume_from of ["descent/1", "descent"]) {
    const body = { model: "descent", iterations: 3, inputs: [RATE], resume_from };
    assert.equal((await call("POST", "/v2/jobs", body)).status, 201);
    assert.deepEqual(valuesOf(descent.sequences.at(-1)!.request.initial![0]), [1, 2, 3, 4]);
  }
});

Deno.test("POST pause and resume, and DELETE, change a job and show it", async () => {
  const { descent, call } = setUp();
  const { id } = json(
    await call("POST", "/v2/jobs", { model: "descent", iterations: 9, inputs: [RATE] }),
  );
  const state = async (method: string, path: string) => {
    const answer = await call(method, `/v2/jobs/${id}${path}`);
    assert.equal(answer.status, 200, answer.text);
    return json(answer).state;
  };
  assert.equal(await state("POST", "/pause"), "pausing");
  descent.sequences[0].step();
  assert.equal(await state("POST", "/pause"), "paused");
  assert.equal(await state("POST", "/resume"), "running");
  assert.equal(await state("POST", "/resume"), "running");
  assert.equal(await state("DELETE", ""), "cancelled");
  assert.equal(await state("DELETE", ""), "cancelled");
  const refused = await call("POST", `/v2/jobs/${id}/resume`);
  assert.equal(refused.status, 409);
  assert.equal(errorOf(refused), `Job ${id} is cancelled and cannot be resumed`);
});

Deno.test("jobs that nobody knows are 404", async () => {
  const { call } = setUp();
  const calls = [["GET", ""], ["DELETE", ""], ["POST", "/pause"], ["POST", "/resume"]];
  for (const [method, path] of calls) {
    const answer = await call(method, `/v2/jobs/abc${path}`);
    assert.equal(answer.status, 404);
    assert.match(errorOf(answer), /^There is no job "abc"; a gateway forgets its jobs/);
  }
});

Deno.test("changing jobs needs admin rights, looking at them does not", async () => {
  const { app, call } = setUp();
  const { id } = json(
    await call("POST", "/v2/jobs", { model: "descent", iterations: 9, inputs: [RATE] }),
  );
  const status = async (method: string, path: string) =>
    (await ask(app, method, path, undefined, {}, REMOTE)).status;
  assert.equal(await status("GET", "/v2/jobs"), 200);
  assert.equal(await status("GET", `/v2/jobs/${id}`), 200);
  assert.equal(await status("POST", "/v2/jobs"), 403);
  assert.equal(await status("DELETE", `/v2/jobs/${id}`), 403);
  assert.equal(await status("POST", `/v2/jobs/${id}/pause`), 403);
  assert.equal(await status("POST", `/v2/jobs/${id}/resume`), 403);
  assert.equal(json(await call("GET", `/v2/jobs/${id}`)).state, "running");
});

const GOOD = { model: "descent", iterations: 3, inputs: [RATE] };

const REFUSED: readonly [string, Record<string, unknown>, number, RegExp][] = [
  ["no model", { iterations: 3 }, 400, /^'model' is missing, expected a string$/],
  ["an unknown model", { ...GOOD, model: "nobody" }, 404, /'nobody'/],
  ["an unknown model without inputs", { model: "nobody", iterations: 1 }, 404, /'nobody'/],
  ["an unknown version", { ...GOOD, version: 9 }, 404, /'descent' version 9/],
  [
    "a version that is none",
    { ...GOOD, version: "new" },
    400,
    /^'version' is the string "new", expected a whole/,
  ],
  [
    "a list of versions",
    { ...GOOD, version: [1] },
    400,
    /^'version' is an array, expected a whole/,
  ],
  ["a name of null", { ...GOOD, name: null }, 400, /^'name' is null, expected a string$/],
  ["a priority of null", { ...GOOD, priority: null }, 400, /^'priority' is null, expected a whole/],
  [
    "no iterations",
    { model: "descent" },
    400,
    /^'iterations' is missing, .* from 1 to 1000000000$/,
  ],
  [
    "iterations of 0",
    { ...GOOD, iterations: 0 },
    400,
    /^'iterations' is 0, .* from 1 to 1000000000$/,
  ],
  [
    "half an iteration",
    { ...GOOD, iterations: 0.5 },
    400,
    /^'iterations' is 0.5, expected a whole/,
  ],
  ["too many", { ...GOOD, iterations: 1e9 + 1 }, 400, /^'iterations' is 1000000001, expected/],
  [
    "a negative interval",
    { ...GOOD, checkpoint_every: -1 },
    400,
    /^'checkpoint_every' is -1, .* from 0 to/,
  ],
  ["a priority in words", { ...GOOD, priority: "high" }, 400, /^'priority' is the string "high"/],
  ["a name too long", { ...GOOD, name: "x".repeat(201) }, 400, /^'name' has 201 .* at most 200$/],
  ["a tenant too long", { ...GOOD, tenant: "x".repeat(201) }, 400, /^'tenant' has 201 characters/],
  ["an unknown field", { ...GOOD, epochs: 3 }, 400, /^Field 'epochs' of the job is not known/],
  [
    "an unknown input",
    { ...GOOD, inputs: [{ ...RATE, name: "r" }] },
    400,
    /'r' .* it has 'rate', 'w'/,
  ],
  ["inputs in words", { ...GOOD, inputs: "rate=1" }, 400, /^The request's 'inputs' is the string/],
  [
    "an input without data",
    { ...GOOD, inputs: [{ ...RATE, data: [] }] },
    400,
    /^Input 'rate' has 0/,
  ],
  [
    "a place to go on from that is none",
    { ...GOOD, resume_from: "a/b/1" },
    400,
    /^'resume_from' is/,
  ],
  ["a checkpoint that is not there", { ...GOOD, resume_from: "descent/7" }, 404, /descent\/7/],
];

for (const [what, body, status, message] of REFUSED) {
  Deno.test(`POST /v2/jobs refuses ${what}, naming it`, async () => {
    const { descent, call } = setUp();
    const answer = await call("POST", "/v2/jobs", body);
    assert.match(errorOf(answer), message);
    assert.equal(answer.status, status);
    assert.deepEqual(descent.jobs.list(), []);
  });
}

Deno.test("POST /v2/jobs refuses a body that is too large to be read at once", async () => {
  const { call } = setUp();
  const answer = await call("POST", "/v2/jobs", { ...GOOD, name: "x".repeat(70_000) });
  assert.equal(answer.status, 413);
});

Deno.test("GET /metrics counts the jobs in each state", async () => {
  const { call } = setUp(1);
  for (let i = 0; i < 3; i++) await call("POST", "/v2/jobs", GOOD);
  const { text } = await call("GET", "/metrics");
  const lines = text.split("\n").filter((line) => line.startsWith("sluice_jobs{"));
  assert.equal(lines.length, 7);
  assert.ok(lines.includes('sluice_jobs{state="queued"} 2'));
  assert.ok(lines.includes('sluice_jobs{state="running"} 1'));
  assert.ok(lines.includes('sluice_jobs{state="failed"} 0'));
});
