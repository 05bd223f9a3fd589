/**
 * Feeds a recorded log to a scheduler again. What entered then enters now, at the recorded times and
 * with the recorded device times; what the scheduler decides is recorded anew, to be compared.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type {
  Device,
  Executable,
  IterationResult,
  Lane,
  StagedModel,
  Step,
} from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { seededRandom } from "../../models/random.ts";
import { contain } from "../../policies/contained.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import { DecisionLog, type LogEntry } from "./decision_log.ts";
import { RequestGroup } from "./group.ts";
import { Lanes } from "./lanes.ts";
import { LoadedModel } from "./loaded_model.ts";
import { MemoryLedger } from "./memory.ts";
import { PendingRequest } from "./pending.ts";
import { Scheduler } from "./scheduler.ts";

type Entry<Event extends LogEntry["event"]> = Extract<LogEntry, { event: Event }>;

/** An entry that the scheduler decides; all others it is given. */
export type Decided = Extract<LogEntry, { event: "start" | "idle" | "discard" }>;

/**
 * Replays a log.
 *
 * @param entries A whole log, from its `engine` entry on.
 * @param policies Every policy that the log names.
 * @returns The decisions made this time: the `start`, `idle` and `discard` entries. Equal to those
 *   of the log when scheduler and policies are what they were.
 * @throws {SluiceError} `invalid_argument` where the log cannot be followed any further.
 */
export function replay(
  entries: Iterable<LogEntry>,
  policies: ReadonlyMap<string, PolicyDefinition>,
): Decided[] {
  const run = new Replay(policies);
  for (const entry of entries) run.take(entry);
  return run.decisions;
}

/** Stands still between entries, and starts nothing by itself. */
class LogClock implements Clock {
  atMicros = 0;
  nowMicros(): number {
    return this.atMicros;
  }
  at(): { cancel(): void } {
    return { cancel() {} };
  }
  soon(): void {}
}

class Replay {
  readonly decisions: Decided[] = [];
  readonly #clock = new LogClock();
  /** By load, until they are removed. */
  readonly #loads = new Map<number, LoadedModel>();
  /** By label: the newest of those, which takes the requests. */
  readonly #models = new Map<string, LoadedModel>();
  readonly #measured = new Map<string, number>();
  readonly #groups = new Map<LoadedModel, Map<number, RequestGroup>>();
  readonly #requests = new Map<number, PendingRequest>();
  readonly #running = new Map<number, (result: IterationResult) => void>();
  #lanes: Lanes | undefined;
  #scheduler: Scheduler | undefined;
  #started = 0;

  constructor(readonly policies: ReadonlyMap<string, PolicyDefinition>) {}

  take(entry: LogEntry): void {
    this.#clock.atMicros = entry.at;
    switch (entry.event) {
      case "engine":
        this.#lanes = openLanes(entry);
        break;
      case "policy":
        this.#setPolicy(entry);
        break;
      case "model":
        this.#addModel(entry);
        break;
      case "remove":
        this.#removeModel(entry);
        break;
      case "measure":
        this.#measured.set(`${entry.model} ${entry.signature}`, entry.bytes);
        break;
      case "reserve":
        this.#reserve(entry);
        break;
      case "arrive":
        this.#arrive(entry);
        break;
      case "cancel":
        this.#following.cancel(this.#requests.get(entry.request)!);
        break;
      case "expire":
        this.#following.deadlines.dropExpired(entry.at);
        break;
      case "finish":
        this.#finish(entry);
        break;
      default: {
        const { all } = this.#lanes!;
        const except = entry.except.flatMap((id) => all.filter((lane) => lane.id === id));
        this.#following.decide(entry.at, new Set(except));
      }
    }
  }

  get #following(): Scheduler {
    if (this.#scheduler === undefined) throw lost("it names no engine and policy at its start");
    return this.#scheduler;
  }

  #setPolicy({ name, seed }: Entry<"policy">): void {
    const definition = this.policies.get(name);
    if (definition === undefined) throw lost(`it uses policy '${name}', which is not given`);
    const policy = contain(definition.create({ random: seededRandom(seed) }), () => {});
    if (this.#scheduler !== undefined) return this.#scheduler.setPolicy(policy);
    const log = new DecisionLog((entry) => {
      if (entry.event === "start" || entry.event === "idle" || entry.event === "discard") {
        this.decisions.push(entry);
      }
    });
    this.#scheduler = new Scheduler(this.#clock, this.#lanes!, policy, log);
    this.#scheduler.turns.selfDriven = false;
  }

  #addModel(entry: Entry<"model">): void {
    const model = modelOf(entry);
    const staged: StagedModel = {
      persistentBytes: entry.persistentBytes,
      stateBytes: 0, // what sequences hold is among what is reserved
      ephemeralBytes: ({ key }) => this.#measured.get(`${entry.model} ${key}`) ?? 0,
      upload: () => Promise.resolve(executable),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const executable: Executable = {
      prepare: () => Promise.resolve(),
      openSequence: () => {
        throw lost("it opens a sequence itself");
      },
      start: (_lane: Lane, _step: Step, _micros: number, done) => {
        this.#running.set(this.#started++, done);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const limits = { maxRequests: Infinity, maxBytes: Infinity };
    const { nowMicros } = this.#following;
    const loaded = new LoadedModel(model, staged, executable, limits, nowMicros);
    this.#loads.set(entry.load, loaded);
    this.#models.set(entry.model, loaded);
    this.#groups.set(loaded, new Map());
    this.#following.addModel(loaded);
  }

  /** One owner stands for all that held memory. */
  #reserve({ bytes, lanes }: Entry<"reserve">): void {
    if (this.#lanes === undefined) throw lost("it names no engine at its start");
    const { ledger } = this.#lanes;
    ledger.releasePersistent(this);
    this.#lanes.all.forEach((lane, index) => this.#lanes!.shrink(lane, lanes[index]));
    if (!ledger.fits(bytes)) {
      throw lost(`${bytes} bytes are reserved, but lanes leave only ${ledger.freeBytes}`);
    }
    ledger.takePersistent(this, "", bytes);
  }

  #removeModel({ load, model }: Entry<"remove">): void {
    const loaded = this.#loads.get(load);
    if (loaded === undefined) throw lost(`model '${model}' was not added before`);
    this.#loads.delete(load);
    this.#groups.delete(loaded);
    this.#following.removeModel(loaded);
  }

  #model(label: string): LoadedModel {
    const loaded = this.#models.get(label);
    if (loaded === undefined) throw lost(`model '${label}' was not added before`);
    return loaded;
  }

  #arrive(entry: Entry<"arrive">): void {
    const loaded = this.#model(entry.model);
    const groups = this.#groups.get(loaded)!;
    let group = groups.get(entry.group);
    if (group === undefined) {
      const shapes = entry.shapes.map((shape) => shape ?? undefined);
      group = new RequestGroup(
        entry.group,
        entry.joinable,
        entry.kind,
        shapes,
        [],
        loaded.model,
        loaded.staged,
      );
      groups.set(entry.group, group);
    }
    const { priority, timeoutMicros, tenant } = entry;
    const caller = { priority, timeoutMicros, tenant, respond() {}, fail() {} };
    const admitted = { group, rows: entry.rows, bytes: entry.bytes, pieces: [] };
    const pending = new PendingRequest(loaded, caller, admitted, entry.at, entry.history);
    this.#requests.set(entry.request, pending);
    this.#following.push(pending);
  }

  #finish({ iteration, deviceMicros, error }: Entry<"finish">): void {
    const done = this.#running.get(iteration);
    if (done === undefined) throw lost(`iteration ${iteration} ends, but was not started`);
    this.#running.delete(iteration);
    const failure = error === undefined
      ? undefined
      : new SluiceError(error as SluiceError["code"], "as recorded");
    done({ deviceMicros, outputs: [], error: failure, release() {} });
  }
}

/** Lanes of no device. */
function openLanes({ lanes, laneDepth, capacityBytes, expressMicros }: Entry<"engine">): Lanes {
  let id = 0;
  const openLane = (bytes: number): Lane => ({
    id: id++,
    bytes,
    depth: laneDepth,
    resize(to) {
      (this as { bytes: number }).bytes = to;
    },
    [Symbol.dispose]() {},
  });
  const device: Pick<Device, "openLane"> = { openLane };
  const others = expressMicros > 0 ? lanes - 1 : lanes;
  return new Lanes(device, others, new MemoryLedger(capacityBytes), expressMicros);
}

/** As much of a model as scheduling sees. */
function modelOf(entry: Entry<"model">): Model {
  const [name, version] = entry.model.split("/");
  const { maxRows, maxDelayMicros, batchedInputs, weight, sequences } = entry;
  const batching = { join: true, reason: "", probe: false };
  const spec = (_: boolean, index: number) => (
    { name: `${index}`, datatype: "UINT8" as const, shape: [] }
  );
  return {
    name,
    version: Number(version),
    file: {},
    fileBytes: entry.persistentBytes,
    fingerprint: entry.model,
    signature: { inputs: batchedInputs.map(spec), outputs: [], notServed: [] },
    maxBatchSize: 0,
    batching: { ...batching, maxRows, maxDelayMicros, batchedInputs },
    sequence: sequences && {
      carry: [],
      batching: { ...batching, ...sequences },
      maxIdleMicros: Infinity,
      required: false,
      checkpoint: name,
    },
    config: {},
    labels: new Map(),
    samples: [],
    priority: 0,
    weight,
    pin: false,
  };
}

function lost(why: string): SluiceError {
  return new SluiceError("invalid_argument", `The decision log cannot be followed: ${why}`);
}
