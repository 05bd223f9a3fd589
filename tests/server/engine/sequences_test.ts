import assert from "node:assert/strict";
import fc from "fast-check";
import { SluiceError } from "../../../models/errors.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { POLICIES } from "../../../policies/mod.ts";
import type { Advance, OpenSequence, SequenceRequest } from "../../../server/engine/api.ts";
import { input, openVirtualEngine, sequenceModel, testModel } from "./fixture.ts";
import { delayed, openSequences, pass, SEQUENCE_COST, stateHeld, stateOf, Story } from "./story.ts";

Deno.test("openSequence() runs iteration by iteration and frees the state at the end", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const story = new Story(sluice, 5);
  assert.ok(stateHeld(sluice) > 0);
  pass(sluice, 10_000);
  assert.deepEqual(story.atMicros, [100, 200, 300, 400, 500]);
  assert.equal(new Set(story.outputs).size, 5);
  assert.ok(story.outputs.every((output) => output.startsWith("y ")), "carried outputs stay");
  assert.equal(openSequences(sluice), 0);
  assert.equal(stateHeld(sluice), 0);
  const { statistics } = sluice.engine.find("s");
  assert.equal(statistics.executionCount, 5);
  assert.equal(statistics.success.count, 1);
  assert.equal(statistics.requestMicros.maxValue, 500);
});

Deno.test("sequences share iterations, and each gets what it gets alone, whoever joins and leaves", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          after: fc.integer({ min: 0, max: 900 }),
          iterations: fc.integer({ min: 1, max: 20 }),
        }),
        { minLength: 2, maxLength: 12 },
      ),
      fc.constantFrom(...POLICIES.keys()),
      async (plan, policy) => {
        await using sluice = await openVirtualEngine(
          [sequenceModel("s")],
          { costs: SEQUENCE_COST },
          { lanes: 2 },
        );
        sluice.engine.setPolicy(policy);
        const together = plan.map(({ after, iterations }, index) => {
          pass(sluice, after);
          return new Story(sluice, iterations, {}, index);
        });
        pass(sluice, 1e6);
        for (const [index, { iterations, outputs }] of together.entries()) {
          const alone = new Story(sluice, iterations, {}, index);
          pass(sluice, 1e6);
          assert.equal(outputs.length, iterations);
          assert.deepEqual(outputs, alone.outputs);
        }
        assert.equal(stateHeld(sluice), 0);
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("sequences that are ready at the same time run in one iteration", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const stories = [1, 2, 3].map((seed) => new Story(sluice, 20, {}, seed));
  pass(sluice, 1e6);
  for (const { batchRows } of stories) assert.equal(Math.max(...batchRows), 3);
  const attained = stories.reduce((sum, { open }) => sum + open!.attainedMicros, 0);
  const { chargedMicros } = sluice.engine.find("s").statistics;
  assert.ok(Math.abs(attained - chargedMicros) < 1e-6, "each is charged its share");
});

Deno.test("sequences wait for one another as long as their own queue delay says", async () => {
  await using sluice = await openVirtualEngine([delayed(2000)], { costs: SEQUENCE_COST });
  const alone = new Story(sluice, 2);
  pass(sluice, 10_000);
  assert.deepEqual(alone.atMicros, [2100, 4200]);
  const full = Array.from({ length: 8 }, () => new Story(sluice, 1));
  pass(sluice, 300);
  assert.ok(full.some(({ atMicros }) => atMicros.length === 1), "a full batch does not wait");
});

Deno.test("a queue is as old as the sequence that came first, though others entered it since", async () => {
  const { batching } = sequenceModel("s").sequence!;
  const apart = sequenceModel("s", { batching: { ...batching, join: false, maxRows: 1 } });
  await using sluice = await openVirtualEngine([apart, testModel("plain")], {
    costs: SEQUENCE_COST,
  });
  sluice.engine.setPolicy("fifo");
  const first = new Story(sluice, 5);
  pass(sluice, 20);
  const plain = sluice.send("plain");
  pass(sluice, 30);
  new Story(sluice, 1);
  pass(sluice, 10_000);
  assert.ok(plain[0].atMicros > first.atMicros[4]);
});

Deno.test("openSequence() names what is wrong", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s"), testModel("plain")]);
  const refused = (changes: Partial<SequenceRequest>) => {
    const { open, error } = new Story(sluice, 1, changes);
    assert.equal(open, undefined);
    return `${error?.code}: ${error?.message}`;
  };
  assert.match(refused({ served: sluice.engine.find("plain") }), /manifest.json has no "carry"/);
  assert.match(refused({ inputs: [] }), /expected 1 inputs but got 0 .*\['x'\]/);
  assert.match(refused({ inputs: [input(2, 1)] }), /a request of a sequence has one row.* has 2/);
  assert.match(
    refused({ inputs: [input(1, 1), stateOf(1)] }),
    /input 's' .* is kept from one request/,
  );
  assert.match(refused({ initial: [input(1, 1)] }), /^invalid_argument.*x/);
  assert.equal(stateHeld(sluice), 0);
  assert.equal(openSequences(sluice), 0);
});

Deno.test("state is reserved at admission: what does not fit now is refused, and fits later", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { memoryBytes: 1060 });
  const first = new Story(sluice, 3), second = new Story(sluice, 3), third = new Story(sluice, 3);
  assert.ok(first.open && second.open);
  assert.equal(third.error?.code, "queue_full");
  assert.match(third.error!.message, /sequences \d+ of \d+\); try again later/);
  assert.equal(sluice.engine.find("s").statistics.failures.REJECTED, 1);
  pass(sluice, 1e6);
  assert.deepEqual([first.outputs.length, second.outputs.length], [3, 3]);
  assert.ok(new Story(sluice, 1).open);
});

Deno.test("as many sequences may be open on a model as requests may wait for it", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {}, { maxQueueRequests: 2 });
  for (let i = 0; i < 2; i++) assert.ok(new Story(sluice, 1, { inputs: undefined }).open);
  const third = new Story(sluice, 1, { inputs: undefined });
  assert.equal(third.error?.code, "queue_full");
  assert.match(third.error.message, /^2 sequences of model 's\/1' are open, at most 2 may be/);
});

Deno.test("the end of a sequence lets what lacked its memory run at once", async () => {
  const names = ["plain", "other"];
  await using sluice = await openVirtualEngine(
    [sequenceModel("s"), ...names.map((name) => testModel(name))],
    {
      memoryBytes: 3205, // 200 beside the weights for two iterations, with no room for a state of 8
      ephemeralBytes: () => 100,
      costs: new Map(names.map((name) => [name, { byRows: [[1, 1000]] }])),
    },
    { lanes: 2 },
  );
  const waiting = new Story(sluice, 1, { inputs: undefined });
  const answers = names.map((name) => sluice.send(name));
  pass(sluice, 10);
  waiting.open!.end();
  pass(sluice, 1100);
  assert.deepEqual(answers.map(([answer]) => answer?.atMicros).sort(), [1000, 1010]);
});

Deno.test("a sequence that never fits is refused as such", async () => {
  for (const [memoryBytes, why] of [[1004, /keeps 8 bytes/], [1010, /needs 40 bytes/]] as const) {
    await using sluice = await openVirtualEngine([sequenceModel("s")], { memoryBytes });
    const { error, open } = new Story(sluice, 1);
    assert.equal(open, undefined);
    assert.equal(error?.code, "out_of_memory");
    assert.match(error!.message, why);
    assert.equal(stateHeld(sluice), 0);
  }
});

Deno.test("sequences leave room for an iteration of the models that are there", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s"), testModel("plain")], {
    memoryBytes: 2500,
  });
  sluice.send("plain", { rows: 8 }); // 256 bytes of working memory
  pass(sluice, 1e6);
  const waiting: OpenSequence[] = [];
  for (;;) {
    const { open } = new Story(sluice, 1, { inputs: undefined });
    if (open === undefined) break;
    waiting.push(open);
  }
  assert.ok(waiting.length > 2);
  const answers = sluice.send("plain", { rows: 8 });
  pass(sluice, 1000);
  assert.ok(answers[0].outputs, "runs beside all that sequences may hold");
  const [large] = sluice.send("plain", { rows: 12 });
  assert.equal(large.error?.code, "queue_full");
  for (const open of waiting) open.end();
  const later = sluice.send("plain", { rows: 12 });
  pass(sluice, 1000);
  assert.ok(later[0].outputs);
});

Deno.test("a load leaves sequences, and requests that wait, an iteration's working memory", async () => {
  const models = [sequenceModel("s"), testModel("late")];
  await using sluice = await openVirtualEngine(models, { costs: SEQUENCE_COST, memoryBytes: 2250 });
  await sluice.engine.unload("late");
  const cannot = /'late\/1' needs 1000 bytes, but only \d+ can be had while accepted .* need \d+ /;
  const story = new Story(sluice, 3);
  const waiting = sluice.send("s", { inputs: [input(6, 1), stateOf(6)] });
  await assert.rejects(sluice.engine.load("late"), cannot);
  pass(sluice, 1000);
  assert.ok(waiting[0].outputs);
  assert.equal(story.outputs.length, 3);
  const idle = Array.from({ length: 27 }, () => new Story(sluice, 1, { inputs: undefined }));
  await assert.rejects(sluice.engine.load("late"), cannot);
  for (const { open } of idle) open!.end();
  await sluice.engine.load("late");
});

Deno.test("a client that leaves ends its sequence: while it waits in the queue and while it runs", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const running = new AbortController(), queued = new AbortController();
  const first = new Story(sluice, 100, { signal: running.signal });
  pass(sluice, 50);
  const second = new Story(sluice, 100, { signal: queued.signal });
  pass(sluice, 1);
  queued.abort();
  running.abort();
  assert.equal(second.error?.code, "cancelled");
  assert.equal(openSequences(sluice), 1, "its iteration is left to finish");
  pass(sluice, 100);
  assert.equal(first.error?.code, "cancelled");
  assert.equal(first.outputs.length, 1);
  assert.equal(stateHeld(sluice), 0);
  assert.equal(sluice.engine.find("s").statistics.failures.CANCELED, 2);
});

Deno.test("a deadline ends a sequence between two iterations", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const story = new Story(sluice, 100, { timeoutMicros: 1050 });
  pass(sluice, 1e6);
  assert.equal(story.error?.code, "deadline_exceeded");
  assert.equal(story.outputs.length, 10);
  assert.equal(stateHeld(sluice), 0);
});

Deno.test("end() frees a sequence that is queued, running or waiting, and tells nobody", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const running = new Story(sluice, 100);
  pass(sluice, 50);
  const queued = new Story(sluice, 100), waiting = new Story(sluice, 1, { inputs: undefined });
  for (const { open } of [running, queued, waiting]) {
    open!.end();
    open!.end();
  }
  assert.equal(openSequences(sluice), 1, "the running one has its iteration to finish");
  pass(sluice, 100);
  assert.equal(openSequences(sluice), 0);
  assert.deepEqual([running, queued, waiting].map(({ error }) => error), [
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(running.outputs.length, 0);
  assert.equal(stateHeld(sluice), 0);
  const { success, fail, failures } = sluice.engine.find("s").statistics;
  assert.deepEqual([success.count, fail.count, failures.CANCELED], [0, 2, 2]);
});

Deno.test("end() from advance(), or while an iteration runs that fails, is the last that is heard", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {
    costs: SEQUENCE_COST,
    faults: { iteration: (_, index) => index === 1 ? "execution_failed" : undefined },
  });
  let iterations = 0;
  const story: Story = new Story(sluice, 9, {
    advance: () => {
      iterations++;
      story.open!.end();
      return [input(1, 1)];
    },
  });
  pass(sluice, 100);
  const failing = new Story(sluice, 9);
  pass(sluice, 50);
  failing.open!.end();
  pass(sluice, 1000);
  assert.deepEqual([iterations, story.error, failing.error], [1, undefined, undefined]);
  assert.equal(openSequences(sluice), 0);
  assert.equal(sluice.engine.find("s").statistics.executionCount, 2);
});

Deno.test("a drain that begins in the failure of a step ends a sequence that its owner would keep", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {
    costs: SEQUENCE_COST,
    faults: { iteration: () => "execution_failed" },
  });
  let drained: Promise<void> | undefined;
  const story = new Story(sluice, 9, {
    endless: true,
    stepFailed: () => {
      drained = sluice.engine.drain(1000);
      return true;
    },
  });
  pass(sluice, 2000);
  await drained;
  assert.equal(story.error?.code, "shutting_down");
  assert.equal(stateHeld(sluice), 0);
});

Deno.test("a job that finds no memory counts as no refusal, as it tries again", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {}, { maxQueueRequests: 1 });
  new Story(sluice, 1, { inputs: undefined });
  const { failures } = sluice.engine.find("s").statistics;
  const job = new Story(sluice, 1, { inputs: undefined, background: true });
  assert.deepEqual([job.error?.code, failures.REJECTED], ["queue_full", 0]);
  new Story(sluice, 1, { inputs: undefined });
  assert.equal(failures.REJECTED, 1);
});

Deno.test("a sequence that began with inputs counts as one request, however often it waits", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  let left = 4;
  const { open } = new Story(sluice, 4, { advance: () => --left > 0 ? "wait" : "end" });
  pass(sluice, 100);
  while (open!.waiting) {
    open!.feed({ inputs: [input(1, 1)] });
    pass(sluice, 100);
  }
  const { success, executionCount } = sluice.engine.find("s").statistics;
  assert.deepEqual([executionCount, success.count], [4, 1]);
});

Deno.test("feed() refuses what the queue has no room for, and the sequence waits on", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST }, {
    maxQueueRequests: 1,
  });
  const { open } = new Story(sluice, 1, { inputs: undefined });
  const fill = () => sluice.send("s", { inputs: [input(1, 1), stateOf(1)] });
  fill();
  pass(sluice, 10);
  fill();
  const feed = () => open!.feed({ inputs: [input(1, 1)] });
  assert.throws(feed, (error: SluiceError) => error.code === "queue_full");
  assert.ok(open!.waiting);
  pass(sluice, 1000);
  feed();
  pass(sluice, 1000);
  assert.equal(open!.iterationsDone, 1);
});

Deno.test("feed() lets one that was accepted with its inputs go on, however full the queue is", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST }, {
    maxQueueRequests: 1,
  });
  const story: Story = new Story(sluice, 2, {
    advance: (): Advance => story.open!.iterationsDone < 2 ? "wait" : "end",
  });
  pass(sluice, 100);
  const fill = () => sluice.send("s", { inputs: [input(1, 1), stateOf(1)] });
  fill();
  pass(sluice, 10);
  fill();
  story.open!.feed({ inputs: [input(1, 1)] });
  pass(sluice, 1000);
  assert.equal(story.open!.iterationsDone, 2);
});

Deno.test("a sequence that waits goes on when it is fed, and is ended when nothing comes", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const outputs: number[] = [];
  const { open, error: none } = new Story(sluice, 1, {
    inputs: undefined,
    advance: () => {
      outputs.push(sluice.clock.nowMicros());
      return "wait";
    },
    fail: (error) => failure = error,
  });
  let failure = none;
  pass(sluice, 999_000);
  open!.feed({ inputs: [input(1, 1)] });
  assert.equal(open!.waiting, false);
  assert.throws(() => open!.feed({ inputs: [input(1, 1)] }), /does not wait/);
  pass(sluice, 100);
  assert.deepEqual(outputs, [999_100]);
  assert.throws(() => open!.feed({ inputs: [] }), /expected 1 inputs/);
  assert.equal(open!.waiting, true);
  assert.equal(open!.state().length, 1);
  pass(sluice, 999_900);
  assert.equal(failure, undefined);
  pass(sluice, 1000);
  assert.match(`${failure}`, /nothing came for it within 1 s/);
  assert.equal(stateHeld(sluice), 0);
});

Deno.test("a failed iteration ends its sequences, but not those that the owner keeps", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {
    costs: SEQUENCE_COST,
    faults: {
      iteration: (_, index) => index === 1 || index === 3 ? "execution_failed" : undefined,
    },
  });
  const ended = new Story(sluice, 5);
  pass(sluice, 1000);
  assert.equal(ended.error?.code, "execution_failed");
  assert.equal(ended.outputs.length, 1);
  const failures: SluiceError[] = [];
  const kept = new Story(sluice, 5, {
    stepFailed: (error) => {
      failures.push(error);
      return true;
    },
  }, 2);
  pass(sluice, 1000);
  assert.equal(kept.outputs.length, 1);
  assert.equal(failures.length, 1);
  assert.equal(kept.open!.waiting, true);
  kept.open!.end();
});

Deno.test("a sequence that its owner fails counts as failed", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const bad = new SluiceError("execution_failed", "the outputs make no sense");
  const story = new Story(sluice, 5, { advance: () => bad });
  pass(sluice, 1000);
  assert.equal(story.error, bad);
  assert.equal(stateHeld(sluice), 0);
  const { statistics } = sluice.engine.find("s");
  assert.deepEqual([statistics.failures.BACKEND, statistics.success.count], [1, 0]);
});

Deno.test("one bad sequence spares its batchmates", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], {
    costs: SEQUENCE_COST,
    faults: { iteration: (_, index) => index === 5 ? "execution_failed" : undefined },
  });
  const stories = [1, 2].map((seed) => new Story(sluice, 10, {}, seed));
  pass(sluice, 1e6);
  for (const [index, story] of stories.entries()) {
    const alone = new Story(sluice, 10, {}, index + 1);
    pass(sluice, 1e6);
    assert.equal(story.error, undefined);
    assert.deepEqual(story.outputs, alone.outputs);
  }
});

Deno.test("unload() waits for sequences that have an end, and ends those that have none", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const finite = new Story(sluice, 5);
  const endless = new Story(sluice, Infinity, { endless: true }, 2);
  let stateAtEnd: readonly Tensor[] = [];
  const idle: Story = new Story(sluice, 1, {
    inputs: undefined,
    endless: true,
    fail: (error) => {
      idle.error = error;
      stateAtEnd = idle.open!.state();
    },
  });
  pass(sluice, 50);
  const unloaded = sluice.engine.unload("s");
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(idle.error?.code, "not_ready");
  assert.equal(stateAtEnd.length, 1, "can be read at the end");
  pass(sluice, 10_000);
  await unloaded;
  assert.equal(endless.error?.code, "not_ready");
  assert.match(endless.error!.message, /'s\/1' was unloaded/);
  assert.equal(endless.outputs.length, 1);
  assert.equal(finite.error, undefined);
  assert.equal(finite.outputs.length, 5);
  assert.equal(stateHeld(sluice), 0);
});

Deno.test("drain() waits for generations, not for jobs; what is left at its limit is failed", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const job = new Story(sluice, Infinity, { endless: true });
  const short = new Story(sluice, 4, {}, 2), long = new Story(sluice, 1000, {}, 3);
  pass(sluice, 50);
  const drained = sluice.engine.drain(2000);
  pass(sluice, 3000);
  await assert.rejects(drained, /did not finish/);
  assert.equal(job.error?.code, "shutting_down");
  assert.equal(short.outputs.length, 4);
  assert.equal(long.error?.code, "deadline_exceeded");
  assert.equal(stateHeld(sluice), 0);
});

Deno.test("drain() fails what is left although owners take one another's sequences out", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST });
  const stories: Story[] = [];
  for (const seed of [0, 1, 2, 3]) {
    const fail = () => stories[seed + 1]?.open?.end();
    stories.push(new Story(sluice, 1000, { fail }, seed));
  }
  const drained = sluice.engine.drain(0);
  pass(sluice, 1000);
  await assert.rejects(drained, /did not finish/);
  assert.equal(sluice.engine.find("s").queuedRequests, 0);
  assert.equal(stateHeld(sluice), 0);
});
