/**
 * The gateway, put together: settings, then a device, models, a listening port, and in the end an
 * orderly shutdown.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";
import { toSluiceError } from "../models/errors.ts";
import { FileRepository } from "../models/repository.ts";
import { FileCheckpoints } from "../models/repository/checkpoints.ts";
import { loadPolicy } from "../policies/load.ts";
import { POLICIES } from "../policies/mod.ts";
import type { GatewayConfig } from "./config.ts";
import { openDevice } from "./devices.ts";
import type { Engine } from "./engine/api.ts";
import { openEngine } from "./engine/engine.ts";
import { memoryWarning } from "./host_memory.ts";
import { Jobs } from "./jobs/jobs.ts";
import { JsonLinesFile } from "./json_lines.ts";
import { listen, type Listener } from "./listener.ts";
import { createApp } from "./protocols/app.ts";
import { within } from "./within.ts";

/** Where models lie when no repository is named. */
export const DEFAULT_REPOSITORY = "repository";

/** Time for the last answers to be written, and for memory to be freed, whatever the drain took. */
const LAST_STEP_MILLIS = 500;

/** A gateway that serves. */
export interface Gateway {
  /** Where it can be reached, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The port it really has. */
  readonly port: number;
  /** What serves the requests. */
  readonly engine: Engine;
  /**
   * Not ready at once; goes on accepting for the drain delay; then takes nothing new and finishes
   * what it accepted within the drain timeout.
   *
   * @returns The exit code: 0 when every accepted request was answered, 1 otherwise.
   */
  shutdown(): Promise<number>;
}

/**
 * Starts a gateway; resolves when every model of the repository is served or known to be broken.
 *
 * @param report Takes messages for the operator, a line each.
 * @throws {SluiceError} `conflict` when the port is in use; `invalid_argument` or `not_found` when a
 * setting names what is not there.
 */
export async function startGateway(
  config: GatewayConfig,
  report: (message: string) => void = () => {},
): Promise<Gateway> {
  const listener = listen(config.host, config.port, answerWhileLoading, report);
  const parts = new AsyncDisposableStack();
  const say = config.quiet ? () => {} : report;
  try {
    const policy = POLICIES.get(config.policy) ?? await loadPolicy(config.policy);
    const log = config.decisionLog === undefined
      ? undefined
      : parts.use(await JsonLinesFile.open(config.decisionLog, report));
    const folder = await repositoryFolder(config.repository);
    const repository = new FileRepository(folder, { warn: report });
    parts.use(await claim(repository, report));
    say(`Loading ${counted((await repository.list()).length)} from ${folder}`);
    const device = parts.use(await openDevice(config.device, config, say));
    const warning = device.name === "cpu" ? memoryWarning(device.memoryBytes) : undefined;
    if (warning !== undefined) report(warning);
    const engine = parts.use(
      await openEngine({
        device,
        repository,
        policy,
        policies: new Map([...POLICIES, [policy.name, policy]]),
        lanes: config.lanes,
        expressMicros: config.express,
        maxQueueRequests: config.maxQueueRequests,
        maxQueueBytes: config.maxQueueBytes,
        decisionLog: log && ((entry) => log.write(entry)),
        report,
        announce: say,
      }),
    );
    const checkpoints = new FileCheckpoints(repository);
    const jobs = new Jobs({ engine, checkpoints, announce: say });
    const app = parts.use(
      createApp({
        engine,
        jobs,
        ...config,
        maxBodyBytes: config.maxBody,
        maxBodiesBytes: config.maxBodies,
      }),
    );
    listener.answerWith(app);
    say(`Serving ${counted(engine.served().length)} on ${device.name} at ${listener.url}`);
    let ending: Promise<number> | undefined;
    return {
      url: listener.url,
      port: listener.port,
      engine,
      shutdown: () => ending ??= shutDown(config, { listener, engine, jobs, parts }, report),
    };
  } catch (error) {
    await listener.close(0);
    await parts.disposeAsync();
    throw error;
  }
}

/** What ends with a gateway. */
interface Running {
  readonly listener: Listener;
  readonly engine: Engine;
  readonly jobs: Jobs;
  readonly parts: AsyncDisposableStack;
}

async function shutDown(
  { drainDelay, drainTimeout }: GatewayConfig,
  { listener, engine, jobs, parts }: Running,
  report: (message: string) => void,
): Promise<number> {
  engine.announceShutdown("The gateway is shutting down");
  listener.sendClientsAway();
  await setTimeout(drainDelay * 1000);
  const deadlineMillis = performance.now() + drainTimeout * 1000;
  let code = 0;
  try {
    await engine.drain(drainTimeout * 1e6);
  } catch (error) {
    report(toSluiceError(error).message);
    code = 1;
  }
  const left = () => Math.max(deadlineMillis - performance.now(), LAST_STEP_MILLIS);
  if (!await within(left(), jobs.close())) report("The last checkpoints of jobs were not written");
  if (!await listener.close(left())) {
    report("Cut off clients that had not sent their request or not read their answer");
  }
  // A hung iteration would hold this up for ever; the process's end frees what is left.
  await within(LAST_STEP_MILLIS, parts.disposeAsync());
  return code;
}

/** The folder of the models: the one that was named, else the default one, made when missing. */
export async function repositoryFolder(named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  await Deno.mkdir(DEFAULT_REPOSITORY, { recursive: true });
  return DEFAULT_REPOSITORY;
}

/** What is asked before the models are there: the port is taken first, so that it fails first. */
function answerWhileLoading(request: Request): Response {
  if (new URL(request.url).pathname === "/v2/health/live") return new Response();
  const headers = { "retry-after": "1" };
  return Response.json({ error: "Models are being loaded" }, { status: 503, headers });
}

/** Keeps a second gateway off the repository, where this process may write to it. */
async function claim(
  repository: FileRepository,
  report: (message: string) => void,
): Promise<Disposable | undefined> {
  const claimed = await repository.claim();
  if (claimed === undefined) {
    report(`${repository.folder} is read-only here: a second gateway on it would go unnoticed`);
  }
  return claimed;
}

function counted(models: number): string {
  return `${models} model${models === 1 ? "" : "s"}`;
}
