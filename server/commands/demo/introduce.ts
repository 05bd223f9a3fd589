/**
 * What the demo shows of a running gateway, and asks of it: all of it over HTTP, as any client
 * would.
 *
 * @module
 */
import type { Starter } from "../../../models/starter/starters.ts";
import type { Io } from "../io.ts";
import { GatewayClient } from "../gateway_client.ts";
import { formatTable } from "../table.ts";
import { curlLines } from "./curl.ts";
import { readPicture } from "./read_picture.ts";

/** The picture that is read, from the project's root and as a file. */
const PICTURE = "server/commands/demo/picture.png";
const PICTURE_FILE = new URL("./picture.png", import.meta.url);

/**
 * Prints what is served and requests to paste, then reads the picture and prints its text.
 *
 * @param server The gateway's address.
 * @param characters The recogniser's classes.
 * @throws {Error} When a model is not ready, or a request fails.
 */
export async function introduce(
  server: string,
  starters: readonly Starter[],
  characters: readonly string[],
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  const broken = (await new GatewayClient(server).index()).find(({ state }) => state !== "READY");
  if (broken) throw new Error(`${broken.name} is not ready: ${broken.reason ?? broken.state}`);

  io.out(`\n${starters.length} models at ${server}\n\n`);
  const columns = [{ head: "MODEL" }, { head: "WHAT IT DOES" }, { head: "LICENCE" }];
  io.out(formatTable(columns, starters.map(({ name, does, licence }) => [name, does, licence])));

  io.out("\nRequests to paste into another terminal\n");
  for (const { about, line } of curlLines(server, starters)) io.out(`\n# ${about}\n${line}\n`);

  io.out(`\n# Read a picture of your own\ndeno task read-picture FILE.png --server ${server}\n`);

  io.out(`\nThe text in ${PICTURE}, read by three of the models:\n\n`);
  const png = await Deno.readFile(PICTURE_FILE);
  for (const { text } of await readPicture(png, server, characters, signal)) io.out(`${text}\n`);
}
