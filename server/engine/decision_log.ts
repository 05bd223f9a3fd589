/**
 * A record of everything that entered the scheduler and of what it decided, one JSON object a line.
 * `replay.ts` feeds the former to a scheduler again and compares the latter.
 *
 * @module
 */
import type { Signature } from "../../models/device.ts";
import type { SluiceError } from "../../models/errors.ts";
import type { EntryKind } from "./group.ts";
import type { Iteration } from "./iteration.ts";
import type { EngineLane, Lanes } from "./lanes.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { History, PendingRequest } from "./pending.ts";

/** One line of the log. Times are microseconds of the engine's clock. */
export type LogEntry =
  | {
    at: number;
    event: "engine";
    /** The express lane included. */
    lanes: number;
    laneDepth: number;
    capacityBytes: number;
    /** 0: there is no express lane. */
    expressMicros: number;
  }
  | {
    at: number;
    event: "model";
    /** Counts loads: while a model is being replaced it is there twice. */
    load: number;
    model: string;
    persistentBytes: number;
    weight: number;
    maxRows: number;
    maxDelayMicros: number;
    batchedInputs: readonly boolean[];
    /** How its sequences are joined, for a model that has such. */
    sequences?: { maxRows: number; maxDelayMicros: number; batchedInputs: readonly boolean[] };
  }
  /** What the device said of a signature's working memory. */
  | { at: number; event: "measure"; model: string; signature: string; bytes: number }
  /** Memory that weights, sequences and probes hold now, and what they have left to each lane, in its order. */
  | { at: number; event: "reserve"; bytes: number; lanes: number[] }
  | { at: number; event: "remove"; load: number; model: string }
  | { at: number; event: "policy"; name: string; seed: number }
  | {
    at: number;
    event: "arrive";
    request: number;
    model: string;
    group: number;
    joinable: boolean;
    kind: EntryKind;
    /** By input; null where an optional one was left out. */
    shapes: readonly (readonly number[] | null)[];
    rows: number;
    bytes: number;
    priority: number;
    timeoutMicros: number;
    tenant?: string;
    /** A step of a sequence, with what lies behind it. */
    history?: History;
  }
  | { at: number; event: "cancel"; request: number }
  | { at: number; event: "expire" }
  | {
    at: number;
    event: "start";
    /** Lanes left idle earlier in the same turn. */
    except: number[];
    lane: number;
    iteration: number;
    model: string;
    requests: number[];
    because: string;
  }
  | {
    at: number;
    event: "idle";
    except: number[];
    lane: number;
    until: number;
    because: string;
  }
  | { at: number; event: "discard"; except: number[]; lane: number; request: number }
  | {
    at: number;
    event: "finish";
    iteration: number;
    deviceMicros: number;
    /** Code of the error, when it failed. */
    error?: string;
  };

/** Turns what happens in a scheduler into log entries. */
export class DecisionLog {
  readonly #write: (entry: LogEntry) => void;
  readonly #loads = new WeakMap<LoadedModel, number>();
  #load = 0;

  /** `write` takes each entry at once, from inside the scheduler: it must neither throw nor wait. */
  constructor(write: (entry: LogEntry) => void) {
    this.#write = write;
  }

  /** The first entry of a log: what the scheduler has to give away. */
  opened(at: number, lanes: Lanes): void {
    this.#write({
      at,
      event: "engine",
      lanes: lanes.all.length,
      laneDepth: lanes.all[0].lane.depth,
      capacityBytes: lanes.ledger.capacityBytes,
      expressMicros: lanes.expressMicros,
    });
  }

  /** A model takes requests from now on. */
  added(at: number, loaded: LoadedModel): void {
    const { model, label, persistentBytes } = loaded;
    const { weight, batching, sequence } = model;
    const load = this.#load++;
    this.#loads.set(loaded, load);
    this.#write({
      at,
      event: "model",
      load,
      model: label,
      persistentBytes,
      weight,
      maxRows: batching.maxRows,
      maxDelayMicros: batching.maxDelayMicros,
      batchedInputs: batching.batchedInputs,
      sequences: sequence && {
        maxRows: sequence.batching.maxRows,
        maxDelayMicros: sequence.batching.maxDelayMicros,
        batchedInputs: sequence.batching.batchedInputs,
      },
    });
  }

  /** A model has left, with nothing queued or running. */
  removed(at: number, loaded: LoadedModel): void {
    const load = this.#loads.get(loaded)!;
    this.#write({ at, event: "remove", load, model: loaded.label });
  }

  /** A policy takes over; `seed` is that of its random numbers. */
  policy(at: number, name: string, seed: number): void {
    this.#write({ at, event: "policy", name, seed });
  }

  /** The device was asked for a signature's working memory. */
  measured(at: number, model: string, { key }: Signature, bytes: number): void {
    this.#write({ at, event: "measure", model, signature: key, bytes });
  }

  /** Memory was taken beside the lanes or given back, maybe at the cost of idle ones. */
  reserved(at: number, { reservedBytes, all }: Lanes): void {
    const lanes = all.map((lane) => lane.bytes);
    this.#write({ at, event: "reserve", bytes: reservedBytes, lanes });
  }

  /** A request entered its queue; a sequence does so for every iteration. Tensors are left out: scheduling depends on shapes alone. */
  arrived(pending: PendingRequest): void {
    const { group, arrivedMicros, iterationsDone, iterationsTotal, attainedMicros } = pending;
    const { sequenceNumber: sequence } = pending;
    this.#write({
      at: pending.waitingSinceMicros,
      event: "arrive",
      request: pending.order,
      model: pending.loaded.label,
      group: group.id,
      joinable: group.joinable,
      kind: group.kind,
      shapes: group.shapes.map((shape) => shape ?? null),
      rows: pending.rows,
      bytes: pending.bytes,
      priority: pending.priority,
      timeoutMicros: pending.caller.timeoutMicros,
      tenant: pending.tenant || undefined,
      history: group.ofSequences
        ? { arrivedMicros, iterationsDone, iterationsTotal, attainedMicros, sequence }
        : undefined,
    });
  }

  /** The client of a waiting request has left. */
  cancelled(at: number, pending: PendingRequest): void {
    this.#write({ at, event: "cancel", request: pending.order });
  }

  /** What waits past its deadline is dropped now. Which requests follows from earlier entries. */
  expiring(at: number): void {
    this.#write({ at, event: "expire" });
  }

  /** A decision to run a batch; `idle` are the lanes passed over in this turn. */
  started(iteration: Iteration, idle: ReadonlySet<EngineLane>): void {
    this.#write({
      at: iteration.startedMicros,
      event: "start",
      except: ids(idle),
      lane: iteration.lane.id,
      iteration: iteration.number,
      model: iteration.loaded.label,
      requests: iteration.batch.map((pending) => pending.order),
      because: iteration.because,
    });
  }

  /** A decision to leave a lane idle until a time at the latest. */
  idled(
    at: number,
    lane: EngineLane,
    until: number,
    because: string,
    idle: ReadonlySet<EngineLane>,
  ): void {
    this.#write({ at, event: "idle", except: ids(idle), lane: lane.id, until, because });
  }

  /** A decision to run met a request that could no longer be done in time; it was dropped. */
  discarded(
    at: number,
    lane: EngineLane,
    pending: PendingRequest,
    idle: ReadonlySet<EngineLane>,
  ): void {
    const request = pending.order;
    this.#write({ at, event: "discard", except: ids(idle), lane: lane.id, request });
  }

  /** An iteration came back from the device. */
  finished(at: number, iteration: Iteration, deviceMicros: number, error?: SluiceError): void {
    this.#write({
      at,
      event: "finish",
      iteration: iteration.number,
      deviceMicros,
      error: error?.code,
    });
  }
}

function ids(lanes: ReadonlySet<EngineLane>): number[] {
  return Array.from(lanes, (lane) => lane.id);
}
