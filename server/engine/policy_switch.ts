/**
 * Which policy is in force, and changing it. A policy that breaks has left its place to fifo.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { messageOf, SluiceError } from "../../models/errors.ts";
import { type Random, seededRandom } from "../../models/random.ts";
import { contain, type ContainedPolicy } from "../../policies/contained.ts";
import { fifo } from "../../policies/fifo.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import type { PolicyStatus } from "./api.ts";
import type { DecisionLog } from "./decision_log.ts";

/** What the switch needs of the engine. */
export interface PolicySwitchParts {
  /** Those that can be chosen by name. */
  readonly policies: ReadonlyMap<string, PolicyDefinition>;
  /** Stamps the log. */
  readonly clock: Clock;
  /** Gives each policy the seed of its own random numbers. */
  readonly random: Random;
  /** Told of every policy that takes over. */
  readonly log?: DecisionLog;
  /** Told of a policy that broke. */
  report(message: string): void;
  /** Told of a policy that took over. */
  announce(message: string): void;
}

/** Makes the policies that the scheduler is given, contained. */
export class PolicySwitch {
  readonly #parts: PolicySwitchParts;
  #name = "";
  #fault: string | undefined;

  /** Nothing is chosen yet. */
  constructor(parts: PolicySwitchParts) {
    this.#parts = parts;
  }

  /** What the policy route shows. */
  get status(): PolicyStatus {
    const available = [...this.#parts.policies.keys()];
    if (this.#fault === undefined) return { name: this.#name, available };
    return { name: fifo.name, available, failed: this.#name, fault: this.#fault };
  }

  /**
   * A fresh policy of that name, for the scheduler.
   *
   * @throws {SluiceError} `invalid_argument` when there is none, or it cannot be made: the one in
   * force then stays.
   */
  choose(name: string): ContainedPolicy {
    const { policies, announce } = this.#parts;
    const definition = policies.get(name);
    if (definition === undefined) {
      throw new SluiceError(
        "invalid_argument",
        `unknown policy '${name}'; available are ${[...policies.keys()].join(", ")}`,
      );
    }
    const before = this.status.name;
    const policy = this.make(definition);
    announce(`Policy '${name}' takes over from '${before}'`);
    return policy;
  }

  /** Like {@linkcode choose}, for a policy that may be none of those to choose from. */
  make(definition: PolicyDefinition): ContainedPolicy {
    const { clock, random, log, report } = this.#parts;
    const { name } = definition;
    const seed = Math.floor(random() * 2 ** 32);
    let policy: ContainedPolicy;
    try {
      policy = contain(definition.create({ random: seededRandom(seed) }), (fault) => {
        this.#fault = fault;
        report(`Policy '${name}' broke, fifo takes over: ${fault}`);
      });
    } catch (cause) {
      const message = `policy '${name}' could not be made: ${messageOf(cause)}`;
      throw new SluiceError("invalid_argument", message, { cause });
    }
    log?.policy(clock.nowMicros(), name, seed);
    this.#name = name;
    this.#fault = undefined;
    return policy;
  }
}
