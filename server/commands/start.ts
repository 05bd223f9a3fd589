/**
 * `deno task start`: serves a repository of models until told to stop.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import {
  type GatewayConfig,
  type GatewaySettings,
  parseConfigFile,
  parseSetting,
  resolveConfig,
  SETTING_NAMES,
  settingFlag,
} from "../config.ts";
import { checkMemory } from "../host_memory.ts";
import { startGateway } from "../main.ts";
import { VERSION } from "../version.ts";
import { type Command, defineCommand, EXIT, type Run, runAsProcess, usage } from "./command.ts";
import type { Io } from "./io.ts";
import { stopSignals } from "./stop_signals.ts";

const AFTER_HELP = `
Flags win over SLUICE_ADMIN_KEY, which wins over the config file. The file is JSON; its keys are
the flags in camel case, its schema is server/config.schema.json.

SIGTERM or SIGINT: not ready at once, goes on accepting for --drain-delay, then finishes what it
accepted within --drain-timeout. A second signal ends the process at once.

Examples:
  deno task start
  deno task start --port 9000 --repository models --policy fair
  SLUICE_ADMIN_KEY=$(cat key) deno task start --config sluice.json --host 0.0.0.0

Exit codes: 0 nothing was lost; 1 it failed, or something was lost; 2 wrong flags or settings.
`;

/** Serves until a signal, then drains. */
export const start: Run = defineCommand("start", defineFlags, async (command, io) => {
  const config = await usage(readConfig(command.opts(), io));
  const report = (message: string) => io.err(message + "\n");
  using signals = stopSignals(io);
  const gateway = await Promise.race([startGateway(config, report), signals.first]);
  if (gateway === undefined) return EXIT.ok; // it had accepted nothing yet
  await signals.first;
  if (!config.quiet) report("Draining; a second signal ends the process at once");
  return await Promise.race([gateway.shutdown(), signals.second.then(() => EXIT.failed)]);
});

function defineFlags(command: Command): Command {
  command.description("Serve the models of a repository over HTTP.")
    .version(VERSION, "-V, --version", "Show the version.")
    .option("--config <file>", "JSON file with any of the settings below.");
  for (const name of SETTING_NAMES) {
    const { flag, argument, description, default: preset } = settingFlag(name);
    command.option(
      argument === undefined ? flag : `${flag} ${argument}`,
      preset === undefined || preset === false
        ? description
        : `${description} (default: ${preset})`,
    );
  }
  return command.addHelpText("after", AFTER_HELP);
}

/** Config file, then environment, then flags: later ones win. */
async function readConfig(
  { config: path, ...flags }: Record<string, string | true | undefined>,
  io: Io,
): Promise<GatewayConfig> {
  let given: GatewaySettings = typeof path === "string"
    ? parseConfigFile(await readText(path), path)
    : {};
  const key = io.env("SLUICE_ADMIN_KEY");
  if (key !== undefined) given = { ...given, ...parseSetting("adminKey", key, "SLUICE_ADMIN_KEY") };
  for (const name of SETTING_NAMES) {
    const value = flags[name];
    if (value === undefined) continue;
    given = {
      ...given,
      ...(value === true ? { [name]: true } : parseSetting(name, value, settingFlag(name).flag)),
    };
  }
  const config = resolveConfig(given);
  // Others have memory of their own, or none.
  if (config.memory !== undefined && /^(auto|cpu)$/.test(config.device)) checkMemory(config.memory);
  return config;
}

async function readText(path: string): Promise<string> {
  try {
    // Unlike `Deno.readTextFile`, it takes off the byte order mark that some editors write.
    return new TextDecoder().decode(await Deno.readFile(path));
  } catch (cause) {
    const reason = messageOf(cause);
    throw new SluiceError("not_found", `Config file ${path} cannot be read: ${reason}`, { cause });
  }
}

if (import.meta.main) await runAsProcess(start);
