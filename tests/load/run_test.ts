import assert from "node:assert/strict";
import { type Clock, VirtualClock } from "../../models/clock.ts";
import { SluiceError } from "../../models/errors.ts";
import { answer, inVirtualTime, virtualFetch, virtualStream } from "./fake_server.ts";
import type { Report } from "./report.ts";
import { runLoad, type Surroundings } from "./run.ts";
import type { ScenarioInput } from "./scenario.ts";
import { resolveScenario } from "./scenario_schema.ts";

const SECOND = 1e6;

function run(
  scenario: Partial<ScenarioInput>,
  virtual: VirtualClock,
  answeredAt: (nowMicros: number) => number,
  { alone = false, ...other }: Partial<Surroundings> & { alone?: boolean } = {},
): Promise<Report> {
  const whole = resolveScenario({
    warmupSeconds: 0,
    arrivals: { kind: "constant", rate: 100 },
    models: [{ name: "toy" }],
    ...scenario,
  }, "test");
  return inVirtualTime(
    virtual,
    runLoad(whole, alone, {
      clock: virtual,
      fetch: virtualFetch(virtual, answeredAt),
      readFile: (path) => Promise.reject(new Error(`reads ${path}`)),
      stop: new AbortController().signal,
      watch: () => {},
      phase: () => {},
      ...other,
    }),
  );
}

/** The clock of a process that gets no CPU for 50 ms whenever it waits. */
function starved(virtual: VirtualClock): Clock {
  return {
    nowMicros: () => virtual.nowMicros(),
    at: (atMicros, callback) => virtual.at(atMicros + 50_000, callback),
    soon: (callback) => virtual.soon(callback),
  };
}

/** Answers after 2 ms, but nothing in the first 500 ms of every 5 s but the first. */
function stalling(now: number): number {
  const into = now % (5 * SECOND);
  return now + 2000 + (now > SECOND && into < SECOND / 2 ? SECOND / 2 - into : 0);
}

Deno.test("runLoad() shows a stall in the latency from intended send, not in the other", async () => {
  const report = await run(
    { durationSeconds: 20, connections: 1 },
    new VirtualClock(),
    stalling,
  );
  const [{ sent, intended, actual, lag }] = report.models;
  assert.equal(sent, 2000);
  assert.ok(intended.p99 > 400, `intended ${intended.p99}`);
  assert.ok(actual.p99 < 5, `actual ${actual.p99}`);
  // Waiting for the server's only connection is no fault of the generator.
  assert.ok(lag.max <= 1, `lag ${lag.max}`);
  assert.equal(report.verdict.valid, true);
});

Deno.test("runLoad() shows a stall in both when connections do not run out", async () => {
  const report = await run({ durationSeconds: 20 }, new VirtualClock(), stalling);
  const [{ intended, actual }] = report.models;
  assert.ok(intended.p99 > 400 && actual.p99 > 400);
});

Deno.test("runLoad() says INVALID when the generator is starved, and skips nothing", async () => {
  const virtual = new VirtualClock();
  const report = await run({ durationSeconds: 5 }, virtual, (now) => now + 2000, {
    clock: starved(virtual),
  });
  const [{ sent, lag, actual }] = report.models;
  assert.equal(sent, 500);
  assert.ok(lag.p99 >= 40, `lag ${lag.p99}`);
  assert.ok(actual.p99 < 5, `actual ${actual.p99}`);
  assert.equal(report.verdict.valid, false);
  assert.match(report.verdict.reasons[0], /^toy: the generator sent late, by \d+\.\d ms at p99/);
});

Deno.test("runLoad() says INVALID when the generator is starved and connections hide its lag", async () => {
  const virtual = new VirtualClock();
  // More than one connection can do: each request is sent when the one before has ended.
  const report = await run(
    { durationSeconds: 2, connections: 1, arrivals: { kind: "constant", rate: 500 } },
    virtual,
    (now) => now + 4000,
    { clock: starved(virtual) },
  );
  assert.ok(report.models[0].lag.p99 < 5);
  assert.match(report.verdict.reasons[0], /^toy: the generator was busy for \d+\.\d ms at p99/);
});

Deno.test("runLoad() gives a part when it is interrupted", async () => {
  const virtual = new VirtualClock();
  const stop = new AbortController();
  virtual.at(2 * SECOND, () => stop.abort());
  const report = await run({ durationSeconds: 10 }, virtual, (now) => now + 100_000, {
    stop: stop.signal,
  });
  assert.equal(report.partial, true);
  assert.ok(report.seconds >= 2 && report.seconds < 2.01, `${report.seconds}`);
  const [{ sent, outcomes }] = report.models;
  assert.ok(sent >= 200 && sent <= 201);
  assert.ok(outcomes.cancelled >= 9 && outcomes.cancelled <= 12, `${outcomes.cancelled}`);
});

Deno.test("runLoad() counts who gave up after the timeout", async () => {
  const report = await run(
    { durationSeconds: 1, timeoutSeconds: 0.5 },
    new VirtualClock(),
    (now) => now + 10 * SECOND,
  );
  assert.equal(report.models[0].outcomes.timeout, 100);
  assert.equal(report.models[0].intended.count, 0);
});

Deno.test("runLoad() does not count the warm-up", async () => {
  const report = await run(
    { durationSeconds: 1, warmupSeconds: 1 },
    new VirtualClock(),
    (now) => now + (now < SECOND ? 200_000 : 1000),
  );
  const [{ sent, intended }] = report.models;
  assert.equal(sent, 100);
  assert.ok(intended.max < 5, `${intended.max}`);
});

Deno.test("runLoad() keeps one request of each client under way in a closed loop", async () => {
  const report = await run(
    { arrivals: undefined, closed: { concurrency: 4 }, durationSeconds: 1 },
    new VirtualClock(),
    (now) => now + 10_000,
  );
  // 10 ms and at most two of the clock's steps each.
  assert.ok(report.models[0].sent >= 4 * 80 && report.models[0].sent <= 4 * 100);
});

Deno.test("runLoad() lets a client of a closed loop pause where there is no connection", async () => {
  const virtual = new VirtualClock();
  const served = virtualFetch(virtual, (now) => now);
  const report = await run(
    { arrivals: undefined, closed: { concurrency: 1 }, durationSeconds: 1 },
    virtual,
    () => 0,
    {
      fetch: (url, init) =>
        url.endsWith("/infer")
          ? Promise.reject(new TypeError("Connection refused"))
          : served(url, init),
    },
  );
  const [{ outcomes, said }] = report.models;
  assert.equal(outcomes.connection, 10);
  assert.equal(said.connection, "Connection refused");
});

Deno.test("runLoad() gives the slowdown of each model against running alone", async () => {
  let busyUntil = 0;
  // One at a time, 6 ms each: alone at 80/s it never waits, together every second one does.
  const report = await run(
    {
      durationSeconds: 2,
      arrivals: undefined,
      models: ["toy", "other"].map((name) => ({
        name,
        arrivals: { kind: "constant", rate: 80 },
      })),
    },
    new VirtualClock(),
    (now) => busyUntil = Math.max(now, busyUntil) + 6000,
    { alone: true },
  );
  const slowdowns = report.models.map(({ slowdown }) => slowdown!.mean);
  assert.ok(slowdowns[0] < 1.2, `${slowdowns}`);
  assert.ok(slowdowns[1] > 1.5, `${slowdowns}`);
  assert.ok(report.jain < 0.99);
});

Deno.test("runLoad() measures text as it comes, and holds it to its objectives", async () => {
  const virtual = new VirtualClock();
  let asked = 0;
  const fetch = virtualStream(virtual, async (request) => {
    const { parameters: { max_tokens } } = await request.json();
    // Every second one stutters.
    const step = asked++ % 2 === 0 ? 5000 : 40_000;
    const token = (_: unknown, n: number) => [50_000 + n * step, '{"text_output":"x"}'] as const;
    return Array.from({ length: max_tokens }, token);
  });
  const generate = { prompt: "a", maxTokens: { min: 3, max: 5 } };
  const report = await run(
    {
      arrivals: { kind: "constant", rate: 10 },
      durationSeconds: 2,
      models: [{ name: "toy", generate, sloTtftMs: 60, sloTbtMs: 10 }],
    },
    virtual,
    () => 0,
    { fetch },
  );
  const [{ sent, good, tokens, tokensPerSecond }] = report.models;
  assert.deepEqual([sent, good], [20, 10]);
  assert.ok(tokens!.count >= 60 && tokens!.count <= 100);
  assert.equal(tokens!.tbt.count, tokens!.count - 20);
  assert.ok(tokens!.ttft.p50 >= 50 && tokens!.ttft.max <= 52);
  assert.ok(tokens!.tbt.p50 >= 4 && tokens!.tbt.max >= 39);
  assert.ok(Math.abs(tokensPerSecond! - tokens!.count / 2) < 3);
});

Deno.test("runLoad() sends one model the requests of several names, each with its own parameters", async () => {
  const virtual = new VirtualClock();
  const sent: unknown[] = [];
  const fetch = virtualStream(virtual, async (request) => {
    const { parameters: { tenant, max_tokens } } = await request.json();
    sent.push([new URL(request.url).pathname, tenant, max_tokens]);
    return [[1000, '{"text_output":"x"}']];
  });
  const load = (name: string, maxTokens: number) => (
    { name, model: "toy", tenant: `of ${name}`, generate: { prompt: "a", maxTokens } }
  );
  const arrivals = { kind: "constant", rate: 100 } as const;
  const report = await run(
    {
      durationSeconds: 0.01,
      arrivals: undefined,
      models: [{ ...load("short", 5), arrivals }, { ...load("long", 500), arrivals }],
    },
    virtual,
    () => 0,
    { fetch },
  );
  const path = "/v2/models/toy/generate_stream";
  assert.deepEqual(sent, [[path, "of short", 5], [path, "of long", 500]]);
  assert.deepEqual(report.models.map(({ name, sent }) => [name, sent]), [["short", 1], [
    "long",
    1,
  ]]);
});

Deno.test("runLoad() sends a model that runs alone the texts that it gets with others", async () => {
  const virtual = new VirtualClock();
  const lengths: number[] = [];
  const fetch = virtualStream(virtual, async (request) => {
    const { parameters: { max_tokens } } = await request.json();
    lengths.push(max_tokens);
    return [[1000, '{"text_output":"x"}']];
  });
  const models = [{ name: "toy", generate: { prompt: "a", maxTokens: { min: 1, max: 999 } } }];
  await run({ durationSeconds: 0.1, models }, virtual, () => 0, { fetch, alone: true });
  assert.equal(lengths.length, 20);
  assert.deepEqual(lengths.slice(0, 10), lengths.slice(10));
});

Deno.test("runLoad() sends sequences: one after the other, given up where a step fails", async () => {
  const virtual = new VirtualClock();
  const steps: { id: string; start: boolean; end: boolean }[] = [];
  const fetch: Surroundings["fetch"] = (url, init) =>
    answer(new Request(url, init), async (request) => {
      const length = Number(request.headers.get("inference-header-content-length"));
      const head = new TextDecoder().decode((await request.bytes()).subarray(0, length));
      const { sequence_id: id, sequence_start: start, sequence_end: end } =
        JSON.parse(head).parameters;
      steps.push({ id, start, end });
      await new Promise<void>((resolve) => virtual.at(virtual.nowMicros() + 10_000, resolve));
      // The second step of the second sequence.
      return new Response(null, { status: steps.length === 5 ? 429 : 200 });
    });
  const report = await run(
    {
      arrivals: undefined,
      closed: { concurrency: 1 },
      durationSeconds: 0.065,
      models: [{ name: "toy", sequence: { steps: 3 } }],
    },
    virtual,
    () => 0,
    { fetch },
  );
  const ids = [...new Set(steps.map(({ id }) => id))];
  assert.deepEqual(
    ids.map((id) =>
      steps.filter((step) => step.id === id).map(({ start, end }) => [start, end].map(Number))
    ),
    [
      [[1, 0], [0, 0], [0, 1]],
      [[1, 0], [0, 0]],
      // Ended after the run, so as to leave nothing behind.
      [[1, 0], [0, 0], [0, 1]],
    ],
  );
  assert.equal(report.models[0].sent, steps.length - 1);
  assert.equal(report.models[0].outcomes.queue_full, 1);
});

Deno.test("runLoad() says what is wrong before the first request", async () => {
  const virtual = new VirtualClock();
  const refused = (part: Partial<ScenarioInput>, message: RegExp, fetch?: Surroundings["fetch"]) =>
    assert.rejects(
      () => run(part, virtual, (now) => now, fetch && { fetch }),
      (error) => error instanceof SluiceError && message.test(error.message),
    );
  await refused({}, /^No server answers at http:\/\/127\.0\.0\.1:8000: no route$/, () => {
    return Promise.reject(new TypeError("no route"));
  });
  await refused({}, /^http:\/\/127\.0\.0\.1:8000\/v2 answers with what is no JSON \(/, () => {
    return Promise.resolve(new Response("<html>"));
  });
  await refused({ models: [{ name: "nope" }] }, /models\/nope refused: no route/);
  await refused({ url: "http://" }, /^url is "http:\/\/"; expected one such as/);
  await refused(
    { models: [{ name: "toy", shapes: { x: [1, 5] } }] },
    /^Model "toy": shapes\.x is \[1,5\]; the server's model has \[-1,4\]$/,
  );
});
