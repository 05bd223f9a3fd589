/**
 * What a client's suite of checks looks like to whoever runs it.
 *
 * @module
 */

/** The outcome of one check. */
export interface CheckResult {
  /** What was checked, in a few words. */
  readonly name: string;
  /** What was wrong; undefined when nothing was. */
  readonly problem: string | undefined;
}

/** Where the checks run. */
export interface ClientSetting {
  /** The gateway's host and port. */
  readonly address: string;
  /** A folder for what a client is installed into; kept from run to run. */
  readonly installFolder: string;
  /** Takes what is being done, for whoever waits. */
  progress(what: string): void;
}

/** Runs a client's checks; throws {@linkcode Unavailable} when the client cannot be had. */
export type ClientChecks = (setting: ClientSetting) => AsyncIterable<CheckResult>;

/** A client that is not there, and how to get it. Says nothing about the gateway. */
export class Unavailable extends Error {
  /** Tells it from other errors. */
  override readonly name = "Unavailable";
}

/** One check: passes unless `run` throws. */
export async function check(name: string, run: () => Promise<void>): Promise<CheckResult> {
  try {
    await run();
    return { name, problem: undefined };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { name, problem: message.trim() };
  }
}

/** What a program said. */
export interface ProgramResult {
  /** Its exit code. */
  readonly code: number;
  /** Standard output, as it is. */
  readonly stdout: Uint8Array<ArrayBuffer>;
  /** Standard output and standard error, as text. */
  readonly text: string;
}

/**
 * Runs a program to its end.
 *
 * @throws {Unavailable} When it is not on PATH.
 */
export async function program(
  command: string,
  args: readonly string[],
  { env, cwd, input }: {
    readonly env?: Record<string, string>;
    readonly cwd?: string;
    readonly input?: Uint8Array<ArrayBuffer>;
  } = {},
): Promise<ProgramResult> {
  const spawned = spawn(command, {
    args: [...args],
    env,
    cwd,
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const [{ code, stdout, stderr }] = await Promise.all([
    spawned.output(),
    input && feed(spawned.stdin, input),
  ]);
  const decoder = new TextDecoder();
  return { code, stdout, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

function spawn(command: string, options: Deno.CommandOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(command, options).spawn();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Unavailable(`${command} is not on PATH`);
  }
}

/** Writes a program's input; one that stops reading has its reasons, which its answer tells. */
async function feed(
  stdin: WritableStream<Uint8Array<ArrayBuffer>>,
  input: Uint8Array<ArrayBuffer>,
): Promise<void> {
  try {
    await new Blob([input]).stream().pipeTo(stdin);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
