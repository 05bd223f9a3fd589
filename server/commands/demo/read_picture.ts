/**
 * `deno task read-picture`: reads the text in a picture by way of a gateway that serves the OCR
 * models. An example of a client: it knows the gateway's address and the models' names, no more.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../../models/errors.ts";
import { defineCommand, EXIT, type Run, runAsProcess } from "../command.ts";
import { GatewayClient } from "../gateway_client.ts";
import { withProgress } from "../progress.ts";
import { infer } from "./client.ts";
import { fetchCharacters } from "./fetch.ts";
import { decodePicture } from "./picture.ts";
import { readText } from "./read_text.ts";
import type { Line } from "./recognise.ts";

/** The names that the starter models are registered under. */
const MODELS = { detector: "ocr_detector", angle: "ocr_angle", recogniser: "ocr_recogniser" };

/**
 * Reads a PNG picture.
 *
 * @param server The gateway's address.
 * @param characters The recogniser's classes.
 * @throws {Error} When it is no PNG, or the gateway refuses.
 */
export async function readPicture(
  png: Uint8Array,
  server: string,
  characters: readonly string[],
  signal?: AbortSignal,
): Promise<Line[]> {
  return await readText(decodePicture(png), characters, MODELS, async (model, input) => {
    const [output] = await infer(server, model, [input], signal);
    return output;
  });
}

const DEFAULT_URL = "http://127.0.0.1:8000";

const AFTER_HELP = `
Examples:
  deno task read-picture page.png
  deno task read-picture page.png --server http://gateway:8000

Exit codes: 0 done; 1 failed; 2 wrong flags.
`;

/** Prints the text in a picture. */
export const readPictureCommand: Run = defineCommand(
  "read-picture",
  (command) =>
    command.description("Read the text in a picture with a gateway that runs the demo's models.")
      .argument("<picture>", "A PNG file.")
      .option("--server <url>", `The gateway. (default: ${DEFAULT_URL})`)
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const [file] = command.args;
    const gateway = new GatewayClient(command.opts<{ server?: string }>().server ?? DEFAULT_URL);
    const png = await readFile(file);
    await checkModels(gateway);
    const characters = await withProgress(io, "Fetching the alphabet", fetchCharacters());
    for (const { text } of await readPicture(png, gateway.url, characters)) io.out(`${text}\n`);
    return EXIT.ok;
  },
);

async function readFile(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (cause) {
    throw new SluiceError("not_found", `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

async function checkModels(gateway: GatewayClient): Promise<void> {
  const index = await gateway.index();
  const ready = new Set(index.filter(({ state }) => state === "READY").map(({ name }) => name));
  const missing = Object.values(MODELS).find((name) => !ready.has(name));
  if (missing === undefined) return;
  throw new Error(`${gateway.url} does not serve ${missing}; deno task demo starts one that does`);
}

if (import.meta.main) await runAsProcess(readPictureCommand);
