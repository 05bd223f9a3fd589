/**
 * A gateway as its user starts it: a process of its own, with the permissions of the task `start`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** A gateway in a process of its own. */
export class GatewayProcess implements AsyncDisposable {
  #stderr = "";
  readonly #serving = Promise.withResolvers<string>();
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  private constructor(flags: readonly string[], denoFlags: readonly string[]) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...startTask(denoFlags), "--port", "0", ...flags],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#reading = this.#read();
    this.#serving.promise.catch(() => {}); // some are expected never to serve
  }

  /** Starts it on a free port. */
  static start(...flags: string[]): GatewayProcess {
    return new GatewayProcess(flags, []);
  }

  /** Starts it on a free port, open to a debugger; what it listens on is in {@linkcode stderr}. */
  static debugged(...flags: string[]): GatewayProcess {
    return new GatewayProcess(flags, ["--inspect=127.0.0.1:0"]);
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      this.#stderr += text;
      const [, url] = /Serving .* at (http:\S+)\n/.exec(this.#stderr) ?? [];
      if (url !== undefined) this.#serving.resolve(url);
    }
    this.#serving.reject(new Error(`The gateway ended before it served: ${this.#stderr}`));
  }

  /** Where it can be reached; resolves when it serves. */
  get serving(): Promise<string> {
    return this.#serving.promise;
  }

  /** The process's number. */
  get pid(): number {
    return this.#child.pid;
  }

  /** All that it has written to standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Sends it a signal. */
  kill(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended
    }
  }

  /** Its exit code, when it has ended. */
  async exitCode(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  /** Ends it, whatever it does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.exitCode();
  }
}

/** The arguments of `deno` in the task `start`, with more of its own flags. */
function startTask(flags: readonly string[]): string[] {
  const { tasks } = JSON.parse(
    Deno.readTextFileSync(new URL("../../../deno.json", import.meta.url)),
  );
  const [deno, run, ...args] = (tasks.start.command as string).split(" ");
  assert.deepEqual([deno, run], ["deno", "run"]);
  return [run, ...flags, ...args];
}
