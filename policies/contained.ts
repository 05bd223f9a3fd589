/**
 * Keeps a policy's faults to itself. Whatever a user's policy does, short of not returning, the
 * scheduler gets a decision it can act on: after the first fault everything goes to `fifo`.
 *
 * @module
 */
import { fifo } from "./fifo.ts";
import type { Decision, Policy, PolicyEvent, QueueView, RequestView, Snapshot } from "./policy.ts";

/**
 * Wraps a policy so that a fault in it is reported once and `fifo` takes over for good.
 *
 * Faults are: an exception; a promise in place of an answer; a change of the list of ready queues; a
 * decision that is neither of the two kinds, runs a queue that is not ready, asks for rows that are no
 * whole number from 1 to `run.rows`, idles until a time that is not after now or not finite, or gives
 * a reason that is no short printable text; a rank that is no number. From then on a request ranks by
 * its arrival; ranks given before stay until the requests are ranked anew.
 *
 * @param onFault Called once, with a sentence that says what the policy did.
 */
export function contain(policy: Policy, onFault: (message: string) => void): ContainedPolicy {
  return new Contained(policy, onFault);
}

/** A policy that can be acted on unchecked. */
export interface ContainedPolicy extends Policy {
  /** There was a fault, and `fifo` has taken over. */
  readonly broken: boolean;
}

class Contained implements ContainedPolicy {
  /** Absent while the wrapped policy has none. */
  rank?: (request: RequestView) => number;
  readonly #onFault: (message: string) => void;
  #policy: Policy;
  #broken = false;
  /** A copy of what is ready, reused every turn: iterating over a frozen one takes ten times as long. */
  readonly #shown: QueueView[] = [];
  /** A reason known to be sound: most policies give the same few every turn. */
  #soundReason = "-";

  constructor(policy: Policy, onFault: (message: string) => void) {
    this.#policy = policy;
    this.#onFault = onFault;
    if (policy.rank !== undefined) this.rank = (request) => this.#rank(request);
  }

  get broken(): boolean {
    return this.#broken;
  }

  observe(event: PolicyEvent): void {
    try {
      refusePromise(this.#policy.observe?.(event), "observe()");
    } catch (error) {
      this.#takeOver("observe()", error);
    }
  }

  next(snapshot: Snapshot): Decision {
    if (this.#broken) return this.#policy.next(snapshot);
    try {
      const decision = this.#policy.next(this.#show(snapshot));
      this.#check(decision, snapshot);
      return decision;
    } catch (error) {
      this.#takeOver("next()", error);
      return this.#policy.next(snapshot);
    }
  }

  #rank(request: RequestView): number {
    try {
      const rank: unknown = this.#policy.rank!(request);
      refusePromise(rank, "rank()");
      if (typeof rank !== "number" || Number.isNaN(rank)) {
        throw new Fault(`rank() returned ${show(rank)}, not a number`);
      }
      return rank;
    } catch (error) {
      this.#takeOver("rank()", error);
      return request.arrivedMicros;
    }
  }

  /** The scheduler's own list is not for a policy to sort, empty or fill. */
  #show({ nowMicros, lane, lanes, ready }: Snapshot): Snapshot {
    const shown = this.#shown;
    shown.length = 0;
    for (const queue of ready) shown.push(queue);
    return { nowMicros, lane, lanes, ready: shown };
  }

  #check(decision: unknown, { ready, nowMicros }: Snapshot): void {
    refusePromise(decision, "next()");
    if (!sameQueues(this.#shown, ready)) throw new Fault("next() changed the list of ready queues");
    if (typeof decision !== "object" || decision === null) {
      throw new Fault(`next() returned ${show(decision)}, not a decision`);
    }
    const { run, rows, idleUntilMicros, because } = decision as Record<string, unknown>;
    if ("run" in decision) {
      const queue = ready[ready.indexOf(run as QueueView)];
      if (queue === undefined) throw new Fault("next() chose to run a queue that is not ready");
      if (typeof rows !== "number" || !Number.isInteger(rows) || rows < 1 || rows > queue.rows) {
        throw new Fault(
          `next() chose ${show(rows)} rows of '${queue.model}', which has ${queue.rows}`,
        );
      }
    } else if (
      typeof idleUntilMicros !== "number" || !Number.isFinite(idleUntilMicros) ||
      idleUntilMicros <= nowMicros
    ) {
      throw new Fault(
        "next() returned neither a queue to run nor a finite time after now to idle until",
      );
    }
    if (because !== this.#soundReason) this.#soundReason = checkReason(because);
  }

  #takeOver(what: string, error: unknown): void {
    this.#broken = true;
    this.#policy = fifo.create({ random: () => 0 });
    this.rank = (request) => this.#rank(request);
    this.#onFault(error instanceof Fault ? error.message : `${what} threw ${describe(error)}`);
  }
}

function sameQueues(shown: readonly QueueView[], ready: readonly QueueView[]): boolean {
  if (shown.length !== ready.length) return false;
  for (let index = 0; index < ready.length; index++) {
    if (shown[index] !== ready[index]) return false;
  }
  return true;
}

/** Something a policy must not do. */
class Fault extends Error {}

/** The reason travels in a response header and in the decision log. */
function checkReason(because: unknown): string {
  if (typeof because === "string" && /^[\x20-\x7e]{1,100}$/.test(because)) return because;
  throw new Fault(
    `next() gave ${show(because)} as its reason; it takes 1 to 100 printable ASCII characters`,
  );
}

function refusePromise(value: unknown, what: string): void {
  if (!(value instanceof Promise)) return;
  value.catch(() => {}); // Nobody waits for it; its failure must not end the process.
  throw new Fault(`${what} returned a promise; a policy answers at once`);
}

function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "something that cannot be shown";
  }
}

function show(value: unknown): string {
  try {
    return typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : String(value);
  } catch {
    return typeof value;
  }
}
