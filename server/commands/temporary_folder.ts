/**
 * A folder for as long as a command runs.
 *
 * @module
 */

/** A folder that is removed, with what is in it, when disposed. */
export interface TemporaryFolder extends AsyncDisposable {
  /** Its absolute path. */
  readonly path: string;
}

/** Makes an empty folder. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await Deno.makeTempDir({ prefix: "sluice-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
