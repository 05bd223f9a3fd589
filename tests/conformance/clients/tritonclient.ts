/**
 * tritonclient.http, by the checks in tritonclient_check.py.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { temporaryFolder } from "../../../server/commands/temporary_folder.ts";
import { addModel } from "../../fixtures/onnx.ts";
import { type CheckResult, type ClientSetting, program } from "./client.ts";
import { installPython } from "./install.ts";

const SCRIPT = fileURLToPath(new URL("./tritonclient_check.py", import.meta.url));

const Line = z.object({ name: z.string(), problem: z.string().nullable() });

/** Runs the script, which prints a line for each check. */
export async function* tritonclientChecks(setting: ClientSetting): AsyncGenerator<CheckResult> {
  const python = await installPython(setting);
  await using folder = await temporaryFolder();
  const model = join(folder.path, "model.onnx");
  await Deno.writeFile(model, addModel());
  setting.progress("Asking with tritonclient");
  const { code, stdout, text } = await program(python, [SCRIPT, setting.address, model]);
  for (const line of new TextDecoder().decode(stdout).split("\n").filter(Boolean)) {
    const { name, problem } = Line.parse(JSON.parse(line));
    yield { name, problem: problem ?? undefined };
  }
  // Also what ends the script between two checks is a result.
  yield { name: "the script ends well", problem: code === 0 ? undefined : text.trim() };
}
