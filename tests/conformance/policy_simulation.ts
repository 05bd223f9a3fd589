/**
 * A small model of queues and lanes in virtual time, to drive a policy with: what arrives and what
 * iterations cost is given, what runs when is the policy's doing. It keeps to the promises that the
 * scheduler makes to policies, and to no more.
 */
import { VirtualClock } from "../../models/clock.ts";
import { seededRandom } from "../../models/random.ts";
import { contain } from "../../policies/contained.ts";
import {
  DEFAULT_PRIORITY,
  type LaneView,
  type Policy,
  type PolicyDefinition,
  type PolicyEvent,
  type QueueView,
} from "../../policies/policy.ts";
import { Tenants } from "../../server/engine/tenants.ts";
import type { Outcome, ReadyQueue, Served } from "./policy_outcome.ts";
import { JOINED, Queue, type QueueLoad, type Waiting } from "./policy_queue.ts";

/** A request of one row. */
export interface Arrival {
  readonly atMicros: number;
  /** Index into the queues. */
  readonly queue: number;
  readonly priority?: number;
  readonly deadlineMicros?: number;
  /** When its client leaves; it is dropped when a batch is formed after that. */
  readonly leavesMicros?: number;
  /** How many iterations it takes; 1 when absent. Infinity: it goes on until `untilMicros`. */
  readonly iterations?: number;
  /** Whether it says how many; yes when absent. */
  readonly declared?: boolean;
  /** Whether its first iteration can be shared with no other, as that of a generation. */
  readonly prefill?: boolean;
  readonly tenant?: string;
}

/** All that happens, whatever the policy does. */
export interface Load {
  readonly queues: readonly QueueLoad[];
  readonly arrivals: readonly Arrival[];
  readonly lanes?: number;
  readonly depth?: number;
  /** Backlogs are refilled until then, and endless requests go on; all others run to their end. */
  readonly untilMicros: number;
  /** The policy is created only then, and told of the queues that are there. */
  readonly switchMicros?: number;
}

/** A request that is about to wait, and has no place yet. */
type Entering = Omit<
  Waiting,
  "rank" | "waitingSinceMicros" | "iterationsTotal" | "tenantMicros"
>;

interface Lane extends LaneView {
  readonly running: { readonly model: string; readonly untilMicros: number }[];
  freeMicros: number;
}

/** A policy that idles more often before it runs something will never run it. */
const MOST_IDLED_IN_A_ROW = 1_000;

/** Runs a load under a policy. The same load and policy always have the same outcome. */
export function simulate(definition: PolicyDefinition, load: Load): Outcome {
  return new Simulation(definition, load).run();
}

class Simulation {
  readonly #clock = new VirtualClock();
  readonly #queues: Queue[] = [];
  readonly #lanes: Lane[];
  readonly #depth: number;
  readonly #decisions: string[] = [];
  readonly #served: Served[] = [];
  readonly #faults: string[] = [];
  readonly #longestWait = new Map<string, number>();
  readonly #tenants = new Tenants();
  #policy: Policy;
  #idled = 0;
  #idledInARow = 0;
  #groups = 0;

  constructor(readonly definition: PolicyDefinition, readonly load: Load) {
    this.#depth = load.depth ?? 1;
    this.#lanes = Array.from({ length: load.lanes ?? 1 }, (_, id) => ({
      id,
      bytes: 1_000_000,
      express: false,
      running: [],
      freeMicros: 0,
    }));
    this.#policy = load.switchMicros === undefined ? this.#create() : { next: runFirst };
  }

  run(): Outcome {
    const { queues, arrivals, switchMicros } = this.load;
    const all = queues.map((queue) => new Queue(queue));
    for (const queue of all) {
      this.#clock.at(queue.load.addedMicros ?? 0, () => this.#add(queue));
      const { removedMicros } = queue.load;
      if (removedMicros !== undefined) this.#clock.at(removedMicros, () => this.#remove(queue));
    }
    for (const arrival of arrivals) {
      this.#clock.at(arrival.atMicros, () => {
        if (!this.#queues.includes(all[arrival.queue])) return;
        this.#push(all[arrival.queue], arrival);
        this.#turn();
      });
    }
    if (switchMicros !== undefined) this.#clock.at(switchMicros, () => this.#switch());
    this.#clock.runAll();
    return {
      decisions: this.#decisions,
      served: this.#served,
      faults: this.#faults,
      idled: this.#idled,
      unserved: this.#queues.reduce((sum, queue) => sum + queue.rows, 0),
      longestWait: this.#longestWait,
    };
  }

  #create(): Policy {
    const random = seededRandom(1);
    return contain(this.definition.create({ random }), (message) => this.#faults.push(message));
  }

  #switch(): void {
    this.#policy = this.#create();
    for (const queue of this.#queues) this.#policy.observe?.({ kind: "queue_added", queue });
    this.#turn();
  }

  #tell(event: PolicyEvent): void {
    this.#policy.observe?.(event);
  }

  #add(queue: Queue): void {
    this.#queues.push(queue);
    this.#tell({ kind: "queue_added", queue });
    this.#refill(queue);
    this.#turn();
  }

  #remove(queue: Queue): void {
    this.#queues.splice(this.#queues.indexOf(queue), 1);
    queue.waiting.length = 0;
    this.#tell({ kind: "queue_removed", queue });
  }

  #refill(queue: Queue): void {
    const nowMicros = this.#clock.nowMicros();
    if (nowMicros >= this.load.untilMicros || !this.#queues.includes(queue)) return;
    while (queue.rows < (queue.load.backlog ?? 0)) {
      const { priority, iterations } = queue.load;
      this.#push(queue, { atMicros: nowMicros, queue: 0, priority, iterations });
    }
  }

  #push(queue: Queue, arrival: Arrival): void {
    const nowMicros = this.#clock.nowMicros();
    const { iterations = 1, declared = true, tenant = "" } = arrival;
    this.#wait(queue, {
      arrivedMicros: nowMicros,
      deadlineMicros: arrival.deadlineMicros ?? Infinity,
      priority: arrival.priority ?? DEFAULT_PRIORITY,
      iterationsDone: 0,
      attainedMicros: 0,
      tenant,
      iterations,
      declared: declared && iterations !== Infinity,
      group: arrival.prefill === true ? this.#groups++ : JOINED,
      leavesMicros: arrival.leavesMicros ?? Infinity,
    });
  }

  /** Takes a request into its place, a new one or one that has iterations to go. */
  #wait(queue: Queue, entering: Entering): void {
    const nowMicros = this.#clock.nowMicros();
    if (queue.rows === 0) queue.waitsSince = nowMicros;
    const { declared, iterations, iterationsDone, tenant } = entering;
    const request = {
      ...entering,
      waitingSinceMicros: nowMicros,
      iterationsTotal: declared ? iterations : queue.expectedIterations(iterationsDone),
      tenantMicros: this.#tenants.micros(tenant, nowMicros),
    };
    queue.push({ ...request, rank: this.#policy.rank?.(request) ?? 0 });
    this.#tell({ kind: "arrival", queue, nowMicros });
  }

  /** Puts back what has iterations to go. */
  #goOn(queue: Queue, batch: readonly Waiting[], micros: number): void {
    const nowMicros = this.#clock.nowMicros();
    const over = nowMicros >= this.load.untilMicros;
    const shareMicros = micros / batch.length;
    for (const request of batch) {
      this.#tenants.charge(request.tenant, shareMicros, nowMicros);
      const iterationsDone = request.iterationsDone + 1;
      if (iterationsDone === request.iterations || (request.iterations === Infinity && over)) {
        queue.ended(iterationsDone);
        continue;
      }
      const attainedMicros = request.attainedMicros + shareMicros;
      this.#wait(queue, { ...request, group: JOINED, iterationsDone, attainedMicros });
    }
  }

  #turn(): void {
    for (const lane of this.#lanes) {
      while (lane.running.length < this.#depth && this.#decide(lane));
    }
  }

  /** One decision. Whether the lane is worth asking for again. */
  #decide(lane: Lane): boolean {
    const nowMicros = this.#clock.nowMicros();
    const ready = this.#queues.filter((queue) => queue.rows > 0);
    if (ready.length === 0) return false;
    const decision = this.#policy.next({
      nowMicros,
      lane,
      lanes: this.#lanes,
      ready: Object.freeze([...ready]),
    });
    if (!("run" in decision)) {
      this.#decisions.push(`${nowMicros} lane ${lane.id} idles: ${decision.because}`);
      this.#idled++;
      if (++this.#idledInARow > MOST_IDLED_IN_A_ROW) {
        this.#faults.push("It idles again and again while work waits");
        return false;
      }
      this.#clock.at(decision.idleUntilMicros, () => this.#turn());
      return false;
    }
    this.#idledInARow = 0;
    const { run, rows, because } = decision;
    this.#decisions.push(`${nowMicros} lane ${lane.id} ${run.model} ${rows}: ${because}`);
    const queue = ready.find((queue) => queue === run)!;
    this.#start(lane, queue, rows, new Map(ready.map((queue) => [queue.model, shown(queue)])));
    return true;
  }

  #start(lane: Lane, queue: Queue, rows: number, ready: Served["ready"]): void {
    const nowMicros = this.#clock.nowMicros();
    const batch = queue.take(rows).filter(({ leavesMicros }) => {
      const stays = leavesMicros > nowMicros;
      if (!stays) this.#tell({ kind: "cancel", queue, nowMicros });
      return stays;
    });
    this.#refill(queue);
    if (batch.length === 0) return;

    const waited = nowMicros - queue.waitsSince;
    this.#longestWait.set(queue.model, Math.max(waited, this.#longestWait.get(queue.model) ?? 0));
    queue.waitsSince = nowMicros;
    queue.lastServedMicros = nowMicros;
    const micros = queue.actualMicros(batch.length);
    lane.freeMicros = Math.max(nowMicros, lane.freeMicros) + micros;
    const entry = { model: queue.model, untilMicros: lane.freeMicros };
    lane.running.push(entry);
    this.#served.push({
      model: queue.model,
      startMicros: nowMicros,
      endMicros: lane.freeMicros,
      micros,
      requests: batch,
      ready,
    });
    this.#clock.at(lane.freeMicros, () => {
      lane.running.splice(lane.running.indexOf(entry), 1);
      queue.servedMicros += micros;
      if (this.#queues.includes(queue)) {
        const now = this.#clock.nowMicros();
        this.#tell({ kind: "charge", queue, nowMicros: now, rows: batch.length, micros });
        this.#goOn(queue, batch, micros);
      }
      this.#turn();
    });
  }
}

function shown(queue: QueueView): ReadyQueue {
  const { topPriority, earliestDeadlineMicros, bestRows, iterationsLeft } = queue;
  const expectedMicros = queue.iterationMicros(bestRows) * iterationsLeft;
  return { topPriority, earliestDeadlineMicros, expectedMicros };
}

/** What runs before a switch: whatever was created first. */
const runFirst: Policy["next"] = ({ ready }) => ({
  run: ready[0],
  rows: ready[0].bestRows,
  because: "before the switch",
});
