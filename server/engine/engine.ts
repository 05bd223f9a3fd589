/**
 * The engine: requests in, answers out. This file only puts the parts together; the decisions are
 * in `scheduler.ts`.
 *
 * @module
 */
import { type Clock, SystemClock } from "../../models/clock.ts";
import type { Device, MemoryUse } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { ModelOverride, Repository } from "../../models/model.ts";
import { seededRandom } from "../../models/random.ts";
import { DEFAULT_POLICY, POLICIES } from "../../policies/mod.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import type {
  Engine,
  IndexRow,
  InferenceRequest,
  LaneStatistics,
  OpenSequence,
  PolicyStatus,
  SequenceRequest,
  ServedModel,
} from "./api.ts";
import { DecisionLog, type LogEntry } from "./decision_log.ts";
import { Lanes } from "./lanes.ts";
import { Intake } from "./intake.ts";
import type { LoadedModel } from "./loaded_model.ts";
import { MemoryLedger } from "./memory.ts";
import { ModelTable } from "./model_table.ts";
import { PolicySwitch } from "./policy_switch.ts";
import { Residency } from "./residency.ts";
import { Reservations } from "./reservations.ts";
import { Scheduler } from "./scheduler.ts";
import { Watchdog } from "./watchdog.ts";

/** How to open an engine. */
export interface EngineOptions {
  /** Stays its opener's: closing the engine frees models and lanes, not the device. */
  readonly device: Device;
  /** Where models are read from, at the start and at every load. */
  readonly repository: Repository;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: fifo. */
  readonly policy?: PolicyDefinition;
  /** Policies that can be switched to; default: the built-in ones. */
  readonly policies?: ReadonlyMap<string, PolicyDefinition>;
  /** Default: 2. */
  readonly lanes?: number;
  /**
   * Iterations expected to be this short never wait for a lane behind longer ones: they have one more
   * of their own, the express lane. Default: 0, there is none.
   */
  readonly expressMicros?: number;
  /** Requests that may wait for one model version. Default: 10,000. */
  readonly maxQueueRequests?: number;
  /** Bytes of input data that may wait for one model version. Default: 256 MiB. */
  readonly maxQueueBytes?: number;
  /** Whether every model of the repository is loaded at the start. Default: true. */
  readonly loadAll?: boolean;
  /** Seed of everything random: policies, probes. Default: 1. */
  readonly seed?: number;
  /** Takes every event and decision, for replays. */
  readonly decisionLog?: (entry: LogEntry) => void;
  /** Takes messages for the operator: models that do not load, faults, hung iterations. */
  readonly report?: (message: string) => void;
  /** Takes what else the operator may want to know: loads, unloads, other policies. */
  readonly announce?: (message: string) => void;
}

/**
 * Opens an engine on a device, with the models of a repository. A model that does not load is
 * reported and shown in the index; it does not keep the others from being served.
 */
export async function openEngine(options: EngineOptions): Promise<Engine & AsyncDisposable> {
  const engine = new SluiceEngine(options);
  if (options.loadAll ?? true) await engine.loadAll();
  return engine;
}

class SluiceEngine implements Engine, AsyncDisposable {
  readonly #options: EngineOptions;
  readonly #clock: Clock;
  readonly #ledger: MemoryLedger;
  readonly #lanes: Lanes;
  readonly #scheduler: Scheduler;
  readonly #intake: Intake;
  readonly #table: ModelTable;
  readonly #watchdog: Watchdog;
  readonly #policies: PolicySwitch;
  readonly #report: (message: string) => void;
  #loading = false;
  #shutdownReason: string | undefined;
  #draining = false;
  #deviceFault: string | undefined;
  #onDrained: (() => void) | undefined;
  #closed = false;

  constructor(options: EngineOptions) {
    const { device, repository, policy = DEFAULT_POLICY, announce = () => {} } = options;
    this.#options = options;
    this.#clock = options.clock ?? new SystemClock();
    this.#report = options.report ?? (() => {});
    const random = seededRandom(options.seed ?? 1);
    this.#ledger = new MemoryLedger(device.memoryBytes);
    this.#lanes = new Lanes(device, options.lanes ?? 2, this.#ledger, options.expressMicros);
    const log = options.decisionLog && new DecisionLog(options.decisionLog);
    log?.opened(this.#clock.nowMicros(), this.#lanes);
    this.#policies = new PolicySwitch({
      policies: options.policies ?? POLICIES,
      clock: this.#clock,
      random,
      log,
      report: this.#report,
      announce,
    });
    this.#scheduler = new Scheduler(this.#clock, this.#lanes, this.#policies.make(policy), log);
    this.#scheduler.onIdle = (loaded) => this.#modelIdle(loaded);
    const limits = {
      maxRequests: options.maxQueueRequests ?? 10_000,
      maxBytes: options.maxQueueBytes ?? 256 * 2 ** 20,
    };
    const reservations = new Reservations(this.#lanes, this.#scheduler);
    this.#intake = new Intake({
      scheduler: this.#scheduler,
      ledger: this.#ledger,
      reservations,
      maxSequences: limits.maxRequests,
      refusal: () => this.#refusal(),
    });
    const residency = new Residency({
      device,
      scheduler: this.#scheduler,
      lanes: this.#lanes,
      reservations,
      sequences: this.#intake.sequences,
      limits,
      random,
    });
    this.#table = new ModelTable(repository, residency, {
      report: this.#report,
      announce: (message) => this.#closed || announce(message), // not at the very end
    });
    this.#watchdog = new Watchdog(this.#clock, this.#lanes, this.#report);
    device.onFault(({ message, fatal }) => {
      this.#report(`Device ${device.name}: ${message}`);
      if (fatal) this.#deviceFault = message;
    });
  }

  async loadAll(): Promise<void> {
    this.#loading = true;
    for (const name of await this.#options.repository.list()) {
      await this.load(name).catch(() => {}); // reported, and shown in the index
    }
    this.#loading = false;
  }

  get deviceName(): string {
    return this.#options.device.name;
  }

  get capacityBytes(): number {
    return this.#ledger.capacityBytes;
  }

  get live(): boolean {
    return !this.#closed && this.#deviceFault === undefined;
  }

  notReadyReason(): string | undefined {
    if (this.#shutdownReason !== undefined) return this.#shutdownReason;
    if (this.#deviceFault !== undefined) return `The device has failed: ${this.#deviceFault}`;
    if (this.#loading) return "Models are being loaded";
    return this.#watchdog.reason;
  }

  brokenModels(): readonly string[] {
    return this.#table.broken();
  }

  find(name: string, version?: string): ServedModel {
    return this.#table.find(name, version);
  }

  versions(name: string): readonly ServedModel[] {
    return this.#table.versions(name);
  }

  served(): readonly ServedModel[] {
    return this.#table.served();
  }

  index(): Promise<readonly IndexRow[]> {
    return this.#table.index();
  }

  submit(request: InferenceRequest): void {
    this.#intake.submit(request);
  }

  openSequence(request: SequenceRequest): OpenSequence | undefined {
    return this.#intake.openSequence(request);
  }

  #refusal(): SluiceError | undefined {
    if (this.#draining) {
      return new SluiceError("shutting_down", "The gateway is shutting down and takes no requests");
    }
    if (this.#deviceFault !== undefined) {
      return new SluiceError("device_failed", `The device has failed: ${this.#deviceFault}`);
    }
  }

  load(name: string, override?: ModelOverride): Promise<void> {
    if (this.#draining) {
      const message = "The gateway is shutting down and loads no models";
      return Promise.reject(new SluiceError("shutting_down", message));
    }
    return this.#table.load(name, override);
  }

  unload(name: string): Promise<void> {
    return this.#table.unload(name);
  }

  policy(): PolicyStatus {
    return this.#policies.status;
  }

  setPolicy(name: string): void {
    this.#scheduler.setPolicy(this.#policies.choose(name));
  }

  lanes(): readonly LaneStatistics[] {
    return this.#lanes.statistics(this.#clock.nowMicros());
  }

  memory(): readonly MemoryUse[] {
    return this.#options.device.memory();
  }

  announceShutdown(reason: string): void {
    this.#shutdownReason ??= reason;
  }

  async drain(timeoutMicros: number): Promise<void> {
    this.announceShutdown("The gateway is shutting down");
    this.#draining = true;
    for (const loaded of this.#scheduler.models) {
      this.#intake.sequences.endEndless(loaded, shuttingDown());
    }
    if (this.#idle) return;
    const error = new SluiceError(
      "deadline_exceeded",
      `The gateway did not finish its requests within ${timeoutMicros / 1e6} s`,
    );
    await new Promise<void>((resolve, reject) => {
      const timer = this.#clock.at(this.#clock.nowMicros() + timeoutMicros, () => {
        this.#onDrained = undefined;
        this.#abandonAll(error);
        reject(error);
      });
      this.#onDrained = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #abandonAll(error: SluiceError): void {
    for (const loaded of this.#scheduler.models) {
      for (const sequence of loaded.sequences) sequence.leave(error);
      this.#scheduler.abandon(loaded, error);
    }
  }

  get #idle(): boolean {
    return this.#scheduler.models.every((loaded) => loaded.idle);
  }

  #modelIdle(loaded: LoadedModel): void {
    loaded.onIdle?.();
    if (this.#onDrained !== undefined && this.#idle) this.#onDrained();
  }

  /** Frees models and lanes; the device stays its opener's. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = this.#draining = true;
    this.#abandonAll(shuttingDown());
    this.#watchdog.close();
    for (const { model } of this.#table.served()) await this.#table.unload(model.name);
    this.#scheduler.close();
    this.#lanes.close();
  }
}

function shuttingDown(): SluiceError {
  return new SluiceError("shutting_down", "The gateway is shutting down");
}
