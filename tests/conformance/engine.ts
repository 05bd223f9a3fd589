/**
 * What the engine promises, whatever device it runs on. Answers are checked by value, so the models
 * are such that every device computes them: outputs equal to inputs.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Clock } from "../../models/clock.ts";
import type { Device } from "../../models/device.ts";
import type { SluiceError } from "../../models/errors.ts";
import type { Model, ModelOverride, Repository } from "../../models/model.ts";
import { FileRepository } from "../../models/repository.ts";
import { type Tensor } from "../../models/tensor.ts";
import { POLICIES } from "../../policies/mod.ts";
import type {
  Engine,
  InferenceRequest,
  SequenceRequest,
  SequenceStep,
  Timing,
} from "../../server/engine/api.ts";
import type { LogEntry } from "../../server/engine/decision_log.ts";
import { type EngineOptions, openEngine } from "../../server/engine/engine.ts";
import { replay } from "../../server/engine/replay.ts";
import { seededRandom } from "../../models/random.ts";
import { identityModel, int64 } from "../fixtures/onnx.ts";
import { recurrentModel, TABLE_ROWS } from "../fixtures/sequence_models.ts";

/** A device to run the suite on. */
export interface EngineSubject {
  readonly name: string;
  readonly clock: Clock;
  open(): Device | Promise<Device>;
  /** Lets time pass; called over and over while a test waits. */
  elapse(): Promise<void>;
  /** It runs models on numbers only, and none that carry state: their tests are left out. */
  readonly plainOnly?: boolean;
  /** Registers a test, where that takes more than `Deno.test`. */
  test?(name: string, body: () => Promise<void>): void;
}

interface Answer {
  readonly outputs?: readonly Tensor[];
  readonly timing?: Timing;
  readonly error?: SluiceError;
}

/** Models uploaded on the spot, as a load request would carry them. */
class UploadedModels implements Repository {
  readonly #files = new Map<string, ModelOverride>();
  readonly #reader = new FileRepository(Deno.cwd());

  add(name: string, file: Uint8Array<ArrayBuffer>, config?: object, manifest: object = {}): void {
    this.#files.set(name, {
      files: new Map([
        ["1/model.onnx", file],
        ["manifest.json", new TextEncoder().encode(JSON.stringify(manifest))],
      ]),
      config: config && JSON.stringify(config),
    });
  }

  list(): Promise<string[]> {
    return Promise.resolve([...this.#files.keys()].sort());
  }

  read(name: string): Promise<Model[]> {
    return this.#reader.read(name, this.#files.get(name));
  }
}

const JOINED = { max_batch_size: 8, dynamic_batching: {} };

function tensor(name: string, rows: number, value: number): Tensor {
  const data = new Uint8Array(new Float32Array(rows * 4).map((_, i) => value + i).buffer);
  return { name, datatype: "FP32", shape: [rows, 4], data };
}

function indexTensor(index: number): Tensor {
  return { name: "index", datatype: "INT64", shape: [1], data: int64([index]) };
}

function indices(seed: number): () => number {
  const random = seededRandom(seed);
  return () => Math.floor(random() * TABLE_ROWS);
}

/** Registers the suite's tests for one device. */
export function engineSuite(subject: EngineSubject): void {
  const register = subject.test ?? Deno.test;
  const test = (name: string, body: (gateway: TestGateway) => Promise<void>) =>
    register(`engine on ${subject.name}: ${name}`, async () => {
      await using gateway = await TestGateway.open(subject);
      await body(gateway);
    });
  const testOfAll: typeof test = subject.plainOnly ? () => {} : test;

  test("joined answers equal separate ones, each request getting its own rows", async (gateway) => {
    const sizes = [1, 2, 3, 1, 1, 2, 1, 4, 1, 1];
    for (let round = 0; round < 4; round++) {
      const sent = sizes.map((rows, i) =>
        gateway.send("joined", tensor("x", rows, 10 * i + round))
      );
      const answers = await gateway.all(sent);
      answers.forEach(({ outputs }, i) => {
        assert.deepEqual(outputs, [{ ...tensor("x", sizes[i], 10 * i + round), name: "y" }]);
      });
    }
    const { statistics } = gateway.engine.find("joined");
    assert.equal(statistics.success.count, 40);
    assert.ok(statistics.executionCount < 40, "some were joined");
  });

  testOfAll("strings of any bytes pass, alone and joined", async (gateway) => {
    const bytes = (...values: number[]) => new Uint8Array([values.length, 0, 0, 0, ...values]);
    const rows = [bytes(), bytes(0), bytes(0xff, 0, 0xc3), bytes(104, 105)];
    const answers = await gateway.all(
      rows.map((data) =>
        gateway.send("text", { name: "x", datatype: "BYTES", shape: [1, 1], data })
      ),
    );
    answers.forEach(({ outputs }, i) => assert.deepEqual(outputs![0].data, rows[i]));
  });

  test("a request with a dimension of zero is answered", async (gateway) => {
    const empty: Tensor = { name: "x", datatype: "FP32", shape: [0, 4], data: new Uint8Array() };
    const [{ outputs }] = await gateway.all([gateway.send("alone", empty)]);
    assert.deepEqual(outputs, [{ ...empty, name: "y" }]);
  });

  test("a bad request is refused and its neighbours are answered", async (gateway) => {
    const answers = await gateway.all([
      gateway.send("joined", tensor("x", 1, 1)),
      gateway.send("joined", { ...tensor("x", 1, 1), shape: [1, 5] }),
      gateway.send("joined", tensor("x", 1, 2)),
    ]);
    assert.deepEqual(answers.map(({ error }) => error?.code), [
      undefined,
      "invalid_argument",
      undefined,
    ]);
  });

  test("a client that leaves before its turn costs nothing", async (gateway) => {
    const gone = new AbortController();
    const sent = Array.from(
      { length: 30 },
      (_, i) =>
        gateway.send("alone", tensor("x", 1, i), { signal: i % 3 === 2 ? gone.signal : undefined }),
    );
    gone.abort();
    const answers = await gateway.all(sent);
    const cancelled = answers.filter(({ error }) => error?.code === "cancelled").length;
    const { statistics } = gateway.engine.find("alone");
    assert.equal(statistics.success.count + cancelled, 30);
    assert.equal(statistics.executionCount, statistics.success.count);
  });

  test("a timeout that cannot be met is refused, one that can is kept", async (gateway) => {
    for (let i = 0; i < 8; i++) await gateway.all([gateway.send("alone", tensor("x", 1, i))]);
    const answers = await gateway.all([
      gateway.send("alone", tensor("x", 1, 1), { timeoutMicros: 60e6 }),
      gateway.send("alone", tensor("x", 1, 1), { timeoutMicros: 1e-3 }),
    ]);
    assert.ok(answers[0].outputs);
    assert.equal(answers[1].error?.code, "deadline_exceeded");
  });

  test("load, reload and unload under load answer every request once", async (gateway) => {
    const sent: Promise<Answer>[] = [];
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 10; i++) sent.push(gateway.send("joined", tensor("x", 1, i)));
      gateway.models.add("joined", identityModel("FP32", ["batch", 4]), {
        ...JOINED,
        max_batch_size: 4 + round,
      });
      await gateway.until(gateway.engine.load("joined"));
    }
    const answers = await gateway.all(sent);
    assert.equal(answers.filter(({ outputs }) => outputs !== undefined).length, 50);
    await gateway.until(gateway.engine.unload("joined"));
    assert.throws(() => gateway.engine.find("joined"), { code: "not_ready" });
    await gateway.until(gateway.engine.load("joined"));
    assert.ok((await gateway.all([gateway.send("joined", tensor("x", 1, 1))]))[0].outputs);
  });

  test("unloading everything leaves no byte that is a model's", async (gateway) => {
    const names = gateway.engine.served().map(({ model }) => model.name);
    await gateway.all(names.slice(0, 2).map((name) => gateway.send(name, tensor("x", 1, 1))));
    for (const name of names) await gateway.until(gateway.engine.unload(name));
    assert.deepEqual(gateway.engine.memory().filter(({ model }) => model !== undefined), []);
  });

  test("policies are switched with 200 requests in flight, each answered once", async (gateway) => {
    const names = ["alone", "joined"];
    const sent = Array.from(
      { length: 200 },
      (_, i) => gateway.send(names[i % 2], tensor("x", 1, i), { priority: 1 + i % 3 }),
    );
    for (const policy of POLICIES.keys()) {
      gateway.engine.setPolicy(policy);
      await subject.elapse();
    }
    const answers = await gateway.all(sent);
    assert.equal(answers.filter(({ outputs }) => outputs !== undefined).length, 200);
    assert.equal(gateway.answered, 200);
  });

  test("a drain answers what was taken and refuses what comes", async (gateway) => {
    const sent = Array.from({ length: 20 }, (_, i) => gateway.send("joined", tensor("x", 1, i)));
    const drained = gateway.engine.drain(60e6);
    const [late] = await gateway.all([gateway.send("joined", tensor("x", 1, 1))]);
    assert.equal(late.error?.code, "shutting_down");
    await gateway.until(drained);
    assert.equal((await gateway.all(sent)).filter(({ outputs }) => outputs).length, 20);
  });

  testOfAll(
    "sequences get together what they get alone, whoever joins and leaves",
    async (gateway) => {
      const lengths = [9, 2, 5, 1, 7, 3, 8, 4];
      const together: Promise<string[]>[] = [];
      for (const [seed, length] of lengths.entries()) {
        together.push(gateway.sequence(length, seed));
        if (seed % 3 === 1) await subject.elapse();
      }
      const joined = await gateway.until(Promise.all(together));
      for (const [seed, length] of lengths.entries()) {
        const alone = await gateway.until(gateway.sequence(length, seed));
        assert.equal(alone.length, length);
        assert.deepEqual(joined[seed], alone);
      }
      const served = gateway.engine.find("recurrent");
      assert.equal(served.openSequences, 0);
      const state = gateway.engine.memory().filter((use) => use.class === "state");
      assert.deepEqual(state.filter(({ bytes }) => bytes > 0), []);
    },
  );

  testOfAll("a client's sequence keeps its state between requests", async (gateway) => {
    const request = (sequence: SequenceStep) =>
      gateway.send("recurrent", indexTensor(3), { sequence });
    const pipelined = [
      request({ id: 1, start: true, end: false }),
      request({ id: 1, start: false, end: false }),
      request({ id: 1, start: false, end: true }),
    ];
    const answers = (await gateway.all(pipelined)).map(({ outputs }) => `${outputs![0].data}`);
    assert.equal(new Set(answers).size, 3, "equal inputs, other states");
    const alone = await gateway.until(gateway.sequence(3, 0, () => 3));
    assert.deepEqual(answers, alone);
  });

  testOfAll("sequences end with their model, and their memory comes back", async (gateway) => {
    const endless = gateway.sequence(Infinity, 1, undefined, { endless: true });
    const ended = gateway.until(assert.rejects(endless, { code: "not_ready" }));
    await subject.elapse();
    await gateway.until(gateway.engine.unload("recurrent"));
    await ended;
    assert.deepEqual(gateway.engine.memory().filter(({ model }) => model === "recurrent"), []);
  });

  test("a recorded log replays to the same decisions", async (gateway) => {
    for (let round = 0; round < 6; round++) {
      const sequences = subject.plainOnly
        ? []
        : [gateway.sequence(12, round), gateway.sequence(3, 2 * round)];
      const sent = Array.from(
        { length: 25 },
        (_, i) =>
          gateway.send(["alone", "joined", "joined"][i % 3], tensor("x", 1 + i % 2, i), {
            priority: 1 + i % 4,
            timeoutMicros: i % 10 === 9 ? 500 : 0,
          }),
      );
      await subject.elapse();
      gateway.engine.setPolicy([...POLICIES.keys()][round % POLICIES.size]);
      await gateway.all(sent);
      await gateway.until(Promise.all(sequences));
    }
    const decided = gateway.log.filter(({ event }) => ["start", "idle", "discard"].includes(event));
    assert.ok(decided.length > 20);
    assert.deepEqual(replay(gateway.log, POLICIES), decided);
  });
}

/** An engine on the subject's device with three models. */
class TestGateway implements AsyncDisposable {
  answered = 0;

  private constructor(
    readonly subject: EngineSubject,
    readonly device: Device,
    readonly engine: Engine & AsyncDisposable,
    readonly models: UploadedModels,
    readonly log: LogEntry[],
  ) {}

  static async open(subject: EngineSubject): Promise<TestGateway> {
    const device = await subject.open();
    const models = new UploadedModels();
    models.add("alone", identityModel("FP32", ["batch", 4]), { max_batch_size: 0 });
    models.add("joined", identityModel("FP32", ["batch", 4]), JOINED);
    if (!subject.plainOnly) addOthers(models);
    const log: LogEntry[] = [];
    const options: EngineOptions = {
      device,
      repository: models,
      clock: subject.clock,
      lanes: 2,
      decisionLog: (entry) => log.push(JSON.parse(JSON.stringify(entry))),
    };
    const opening = openEngine(options);
    const engine = await waitFor(opening, subject);
    return new TestGateway(subject, device, engine, models, log);
  }

  /** The outputs of a sequence of so many iterations, whose inputs come from a seed. */
  sequence(
    length: number,
    seed: number,
    index: (() => number) | undefined = indices(seed),
    changes: Partial<SequenceRequest> = {},
  ): Promise<string[]> {
    const next = () => [indexTensor(index())];
    return new Promise((resolve, reject) => {
      const outputs: string[] = [];
      this.engine.openSequence({
        served: this.engine.find("recurrent"),
        id: "",
        inputs: next(),
        priority: 0,
        timeoutMicros: 0,
        endless: false,
        iterations: length,
        advance: ([{ data }]) => {
          outputs.push(`${data}`);
          if (outputs.length < length) return next();
          resolve(outputs);
          return "end";
        },
        fail: reject,
        ...changes,
      });
    });
  }

  send(
    model: string,
    input: Tensor,
    options: Partial<Pick<InferenceRequest, "priority" | "timeoutMicros" | "signal" | "sequence">> =
      {},
  ): Promise<Answer> {
    const { priority = 0, timeoutMicros = 0, signal, sequence } = options;
    return new Promise((resolve) => {
      this.engine.submit({
        served: this.engine.find(model),
        id: "",
        inputs: [input],
        priority,
        timeoutMicros,
        signal,
        sequence,
        respond: (outputs, timing) => {
          this.answered++;
          const kept = outputs.map(({ name, datatype, shape, data }) => ({
            name,
            datatype,
            shape: [...shape],
            data: data.slice(),
          }));
          resolve({ outputs: kept, timing });
        },
        fail: (error) => {
          this.answered++;
          resolve({ error });
        },
      });
    });
  }

  /** All answers, letting time pass until they are there. */
  all(sent: readonly Promise<Answer>[]): Promise<Answer[]> {
    return this.until(Promise.all(sent));
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return waitFor(promise, this.subject);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.until(Promise.resolve(this.engine[Symbol.asyncDispose]()));
    await this.device[Symbol.asyncDispose]();
  }
}

/** Models on strings and with state. */
function addOthers(models: UploadedModels): void {
  models.add("text", identityModel("BYTES", ["batch", 1]), JOINED);
  models.add("recurrent", recurrentModel().file.bytes!, undefined, {
    carry: { memory_next: "memory", index: "last" },
    samples: [[
      { name: "index", datatype: "INT64", shape: [1], data: [1] },
      { name: "memory", datatype: "FP32", shape: [2, 1, 3], data: Array(6).fill(0) },
      { name: "last", datatype: "INT64", shape: [1], data: [0] },
    ]],
  });
}

async function waitFor<T>(promise: Promise<T>, subject: EngineSubject): Promise<T> {
  let settled = false;
  const mark = () => void (settled = true);
  promise.then(mark, mark);
  while (!settled) await subject.elapse();
  return await promise;
}
