/**
 * The loop that gives lanes to queues. It alone changes scheduling state, and nothing awaits
 * between reading and acting: every method here runs to its end in one go.
 *
 * @module
 */
import { Alarm, type Clock } from "../../models/clock.ts";
import type { IterationResult } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { ContainedPolicy } from "../../policies/contained.ts";
import type { Decision, QueueView, Snapshot } from "../../policies/policy.ts";
import { answer, countFailure, fail } from "./answer.ts";
import { charge } from "./charge.ts";
import { Clients, stopListening } from "./clients.ts";
import { Deadlines, isHopeless, missedDeadline } from "./deadlines.ts";
import type { DecisionLog } from "./decision_log.ts";
import { failureOf, Iteration, unsplittable } from "./iteration.ts";
import type { EngineLane, Lanes } from "./lanes.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { PendingRequest } from "./pending.ts";
import type { ModelQueue } from "./queue.ts";
import { ReadyQueues } from "./ready_queues.ts";
import { Tenants } from "./tenants.ts";
import { Turns } from "./turns.ts";

type Run = Extract<Decision, { run: QueueView }>;
type Idle = Exclude<Decision, Run>;

/** Runs queues on lanes as the policy says. */
export class Scheduler {
  readonly #lanes: Lanes;
  #policy: ContainedPolicy;
  /** Whether the ranks of what waits are those of a policy that has broken. */
  #rankedByBroken = false;
  readonly #models: LoadedModel[] = [];
  readonly #queues = new Map<QueueView, ModelQueue>();
  readonly #ready: ReadyQueues;
  /** Set for the earliest time that something asked for since the last turn began. */
  readonly #alarm: Alarm;
  readonly #clients = new Clients((pending) => this.cancel(pending));
  /** Of all that waits. */
  readonly deadlines: Deadlines;
  readonly #tenants = new Tenants();
  #nowMicros = 0;
  #iterations = 0;
  #entries = 0;
  /** When decisions are made. */
  readonly turns: Turns;
  /** Called when a model has nothing queued or running any more. */
  onIdle: ((loaded: LoadedModel) => void) | undefined;

  /** A scheduler without queues. */
  constructor(
    /** Where every time comes from. */
    readonly clock: Clock,
    lanes: Lanes,
    policy: ContainedPolicy,
    /** Told of all that comes in and of all that is decided. */
    readonly log?: DecisionLog,
  ) {
    this.#lanes = lanes;
    this.#policy = policy;
    this.#alarm = new Alarm(clock, () => this.turns.plan());
    this.turns = new Turns({
      clock,
      begins: () => this.#alarm.clear(),
      decide: (nowMicros, idleLanes) => this.decide(nowMicros, idleLanes),
      ended: () => this.#clients.listen(),
    });
    this.#ready = new ReadyQueues(this.#models, lanes, this.#alarm);
    this.deadlines = new Deadlines({
      clock,
      models: this.#models,
      due: (nowMicros) => log?.expiring(nowMicros),
      drop: (pending, error) => this.#drop(pending, error),
    });
  }

  /** The time of the decision being made, as policies and queues see it. */
  readonly nowMicros = (): number => this.#nowMicros;

  /** Models whose queues are served, those on their way out included. Live. */
  get models(): readonly LoadedModel[] {
    return this.#models;
  }

  /** Serves a model's queue from now on. */
  addModel(loaded: LoadedModel): void {
    this.#models.push(loaded);
    for (const queue of loaded.queues) this.#queues.set(queue, queue);
    this.log?.added(this.clock.nowMicros(), loaded);
    for (const queue of loaded.queues) this.#policy.observe?.({ kind: "queue_added", queue });
  }

  /** Forgets a model that is idle. */
  removeModel(loaded: LoadedModel): void {
    this.#models.splice(this.#models.indexOf(loaded), 1);
    for (const queue of loaded.queues) this.#queues.delete(queue);
    this.log?.removed(this.clock.nowMicros(), loaded);
    for (const queue of loaded.queues) this.#policy.observe?.({ kind: "queue_removed", queue });
  }

  /** Hands all queues to another policy. What waits goes on waiting, in the new policy's order. */
  setPolicy(policy: ContainedPolicy): void {
    const nowMicros = this.#nowMicros = this.clock.nowMicros();
    this.#policy = policy;
    for (const queue of this.#queues.values()) policy.observe?.({ kind: "queue_added", queue });
    this.#rankAnew(nowMicros, (queue) => policy.observe?.({ kind: "arrival", queue, nowMicros }));
    this.turns.plan();
  }

  #rankAnew(nowMicros: number, onRanked: (queue: ModelQueue) => void): void {
    this.#rankedByBroken = this.#policy.broken;
    for (const queue of this.#queues.values()) {
      for (const pending of [...queue.waiting()]) {
        queue.remove(pending);
        this.#rank(pending, nowMicros);
        queue.push(pending);
        onRanked(queue);
      }
    }
  }

  /** Takes a request that was admitted. Its answer comes through its callbacks. */
  push(pending: PendingRequest): void {
    const { queue, waitingSinceMicros: nowMicros } = pending;
    if (isHopeless(pending, nowMicros)) {
      return fail(pending, missedDeadline(pending, nowMicros), this.clock);
    }
    pending.order = this.#entries++;
    this.#rank(pending, nowMicros);
    this.#wait(pending);
    this.log?.arrived(pending);
    this.#policy.observe?.({ kind: "arrival", queue, nowMicros });
    this.turns.plan();
  }

  #rank(pending: PendingRequest, nowMicros: number): void {
    if (this.#policy.rank === undefined) return void (pending.rank = 0);
    pending.tenantMicros = this.#tenants.micros(pending.tenant, nowMicros);
    pending.rank = this.#policy.rank(pending);
  }

  #wait(pending: PendingRequest): void {
    pending.queue.push(pending);
    this.#clients.add(pending);
    this.deadlines.watch(pending);
  }

  /**
   * One decision: picks a lane with a free slot, shows the policy what could run there and does as
   * it says.
   *
   * @returns Whether there may be more to decide.
   */
  decide(nowMicros: number, idleLanes: Set<EngineLane>): boolean {
    this.#nowMicros = nowMicros;
    const lane = this.#lanes.firstFree(idleLanes);
    if (lane === undefined) return false;
    this.deadlines.dropExpired(nowMicros);
    const ready = this.#ready.on(lane, nowMicros);
    if (ready.length === 0) {
      idleLanes.add(lane);
      return true;
    }
    const snapshot: Snapshot = { nowMicros, lane, lanes: this.#lanes.all, ready };
    const decision = this.#policy.next(snapshot);
    if (this.#policy.broken !== this.#rankedByBroken) {
      this.#rankAnew(nowMicros, () => {});
      return this.decide(nowMicros, idleLanes); // the first of a queue may be one that fits no more
    }
    if ("run" in decision) this.#run(lane, decision, idleLanes);
    else this.#idle(lane, decision, idleLanes);
    return true;
  }

  #idle(lane: EngineLane, { idleUntilMicros, because }: Idle, idleLanes: Set<EngineLane>): void {
    this.log?.idled(this.#nowMicros, lane, idleUntilMicros, because, idleLanes);
    idleLanes.add(lane);
    this.#alarm.setBy(idleUntilMicros);
  }

  #run(lane: EngineLane, decision: Run, idleLanes: Set<EngineLane>): void {
    const queue = this.#queues.get(decision.run)!;
    const group = queue.head!;
    const first = group.waiting.peek()!;
    if (isHopeless(first, this.#nowMicros)) {
      this.log?.discarded(this.#nowMicros, lane, first, idleLanes);
      return this.#drop(first, missedDeadline(first, this.#nowMicros));
    }
    // On the express lane a policy cannot have more than what was found to be short.
    const most = lane.express ? queue.rowsWithin(this.#lanes.expressMicros) : group.maxRows;
    const wanted = Math.max(first.rows, Math.min(decision.rows, most));
    const rows = group.fittingRows(wanted, first.rows, this.#lanes.reachBytes(lane));
    const { loaded } = first;
    const batch = queue.take(rows);
    if (group.ofSequences) batch.sort((a, b) => a.sequenceNumber - b.sequenceNumber);
    const iteration = new Iteration(
      this.#iterations++,
      loaded,
      batch,
      lane,
      this.#nowMicros,
      group.cost.estimate(rows),
      decision.because,
    );
    this.log?.started(iteration, idleLanes);
    const needed = group.signature(iteration.rows).ephemeralBytes;
    this.#lanes.grow(lane, needed);
    loaded.ephemeralBytes = Math.max(loaded.ephemeralBytes, needed);
    queue.served(this.#nowMicros);
    loaded.runningRequests += batch.length;
    for (const pending of batch) stopListening(pending);
    this.#lanes.started(lane, iteration, this.#nowMicros);
    loaded.executable.start(
      lane.lane,
      iteration.step,
      iteration.expectedMicros || Infinity, // nothing known: not to be run in place
      (result) => this.finish(iteration, result, this.clock.nowMicros()),
    );
  }

  /** Takes note of an iteration's end, gives its lane away again, then answers. */
  finish(iteration: Iteration, result: IterationResult, nowMicros: number): void {
    const { loaded, batch, rows } = iteration;
    const error = failureOf(result) ?? unsplittable(batch, rows, result.outputs);
    const busyLanes = this.#lanes.finished(iteration.lane, iteration, nowMicros);
    this.log?.finished(nowMicros, iteration, result.deviceMicros, error);
    const micros = charge(iteration, result.deviceMicros, busyLanes, this.#tenants, nowMicros);
    if (error === undefined) batch[0].group.cost.observe(rows, result.deviceMicros);
    this.#policy.observe?.({ kind: "charge", queue: batch[0].queue, nowMicros, rows, micros });
    loaded.runningRequests -= batch.length;
    if (error !== undefined) this.#spare(iteration, error);
    const { ofSequences } = batch[0].group;
    // Unfinished sequences take part in the next decision.
    if (error === undefined && ofSequences) answer(iteration, result, this.clock);
    // The device first: what comes next runs while the other answers are written.
    this.turns.take();
    if (error === undefined && !ofSequences) answer(iteration, result, this.clock);
    result.release();
    if (loaded.idle) this.onIdle?.(loaded);
  }

  /** One bad request spares its batchmates: after a failure each of a joined batch runs alone. */
  #spare(iteration: Iteration, error: SluiceError): void {
    const { batch } = iteration;
    const again = batch.length > 1 && error.code === "execution_failed";
    for (const pending of batch) {
      if (again) {
        pending.alone = true;
        this.#wait(pending);
      } else fail(pending, error, this.clock);
    }
    if (again) this.turns.plan();
  }

  /** Takes a request whose client has left out of its queue; one that runs is left to finish. */
  cancel(pending: PendingRequest): void {
    if (!pending.waiting) return;
    this.log?.cancelled(this.clock.nowMicros(), pending);
    this.#drop(pending, new SluiceError("cancelled", "the client left before the answer"));
  }

  /** Fails everything that waits for a model. */
  abandon(loaded: LoadedModel, error: SluiceError): void {
    for (const queue of loaded.queues) {
      // Whoever is told of the one may take others out.
      for (const pending of [...queue.waiting()]) if (pending.waiting) this.#drop(pending, error);
    }
  }

  /** Takes a waiting request out of its queue for its owner, who is not told: it fails uncalled. */
  withdraw(pending: PendingRequest, why: SluiceError): void {
    this.log?.cancelled(this.clock.nowMicros(), pending);
    stopListening(pending);
    this.#remove(pending);
    countFailure(pending, why, this.clock);
  }

  #drop(pending: PendingRequest, error: SluiceError): void {
    this.#remove(pending);
    fail(pending, error, this.clock);
    if (pending.loaded.idle) this.onIdle?.(pending.loaded);
  }

  #remove(pending: PendingRequest): void {
    const { queue } = pending;
    queue.remove(pending);
    this.#policy.observe?.({ kind: "cancel", queue, nowMicros: this.clock.nowMicros() });
  }

  /** Stops all timers. */
  close(): void {
    this.#alarm.clear();
    this.deadlines.close();
  }
}
