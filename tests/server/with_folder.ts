/**
 * A temporary folder for one test.
 *
 * @module
 */
import { temporaryFolder } from "../../server/commands/temporary_folder.ts";

/** Runs `test` with an empty folder, which is removed afterwards. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  await using folder = await temporaryFolder();
  await test(folder.path);
}
