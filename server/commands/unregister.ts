/**
 * `deno task unregister`: takes a model out of a repository, or out of a gateway's service.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { FileRepository } from "../../models/repository.ts";
import { didYouMean } from "../nearest.ts";
import { DEFAULT_REPOSITORY } from "../main.ts";
import { defineCommand, EXIT, type Run, runAsProcess, UsageError, wholeNumber } from "./command.ts";
import { adminKey, GatewayClient } from "./gateway_client.ts";

const AFTER_HELP = `
A running gateway goes on serving what it has loaded from its repository until it is told to unload
it: use --server for that, which leaves the repository as it is. Settings are those of all versions
of a model: they go with the last one.

Examples:
  deno task unregister digits
  deno task unregister digits --version 1
  deno task unregister digits --server http://127.0.0.1:8000

Exit codes: 0 done; 1 failed, nothing changed; 2 wrong flags.
`;

interface Flags {
  readonly version?: string;
  readonly repository?: string;
  readonly server?: string;
  readonly adminKey?: string;
}

/** Removes a version or a model, or has a gateway unload a model. */
export const unregister: Run = defineCommand(
  "unregister",
  (command) =>
    command.description("Take a model out of a repository, or out of a running gateway.")
      .argument("<name>", "The model.")
      .option("--version <n>", "Only this version of it; a gateway unloads all.")
      .option("--repository <dir>", `Folder to take it out of. (default: ${DEFAULT_REPOSITORY})`)
      .option("--server <url>", "Have the gateway there unload it instead.")
      .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const { server, repository, version, ...flags } = command.opts<Flags>();
    const [name] = command.args;
    if (server !== undefined) {
      if (repository !== undefined || version !== undefined) {
        throw new UsageError(
          "--server takes neither --repository nor --version: it unloads a model",
        );
      }
      await unload(new GatewayClient(server, adminKey(flags.adminKey, io)), name);
      io.out(`${server} does not serve ${name} any more\n`);
      return EXIT.ok;
    }
    const folder = new FileRepository(repository ?? DEFAULT_REPOSITORY);
    const number = version === undefined ? undefined : wholeNumber("--version", version);
    checkKnown(name, await folder.list(), folder.folder);
    await folder.remove(name, number);
    io.out(`Took ${number === undefined ? name : `${name}/${number}`} out of ${folder.folder}\n`);
    return EXIT.ok;
  },
);

/** The protocol answers an unload of what is not there like any other. */
async function unload(gateway: GatewayClient, name: string): Promise<void> {
  checkKnown(name, (await gateway.index()).map((row) => row.name), gateway.url);
  await gateway.unload(name);
}

function checkKnown(name: string, known: readonly string[], where: string): void {
  if (known.includes(name)) return;
  throw new SluiceError(
    "not_found",
    `There is no model "${name}" at ${where}${didYouMean(name, known)}`,
  );
}

if (import.meta.main) await runAsProcess(unregister);
