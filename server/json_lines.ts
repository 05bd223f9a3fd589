/**
 * A log file of one JSON object a line, written beside what is being logged.
 *
 * @module
 */
import { messageOf, SluiceError } from "../models/errors.ts";

/** Lines that wait for a slow disk may take this much before the log gives up. */
const MAX_WAITING_CHARACTERS = 64 * 2 ** 20;

/** An append-only file. It never holds its writer up, nor fails it: it reports and stops. */
export class JsonLinesFile implements AsyncDisposable {
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #flushing: Promise<void> | undefined;
  #stopped = false;

  private constructor(
    readonly path: string,
    readonly file: Deno.FsFile,
    readonly report: (message: string) => void,
  ) {}

  /**
   * Opens a file to append to, making it where there is none.
   *
   * @param report Told once, when the file can be written no more.
   * @throws {SluiceError} `invalid_argument` when it cannot be opened.
   */
  static async open(path: string, report: (message: string) => void): Promise<JsonLinesFile> {
    try {
      return new JsonLinesFile(path, await Deno.open(path, { append: true, create: true }), report);
    } catch (cause) {
      throw new SluiceError("invalid_argument", `Cannot write ${path}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** Adds a line. */
  write(entry: unknown): void {
    if (this.#stopped) return;
    const line = JSON.stringify(entry);
    this.#waiting.push(line);
    this.#waitingCharacters += line.length;
    if (this.#waitingCharacters > MAX_WAITING_CHARACTERS) this.#stop("the disk is too slow");
    else this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    try {
      await Promise.resolve(); // lines of the same turn go out together
      while (this.#waiting.length > 0) {
        let bytes = new TextEncoder().encode(this.#waiting.join("\n") + "\n");
        this.#waiting = [];
        this.#waitingCharacters = 0;
        while (bytes.length > 0) bytes = bytes.subarray(await this.file.write(bytes));
      }
    } catch (error) {
      this.#stop(messageOf(error));
    }
    this.#flushing = undefined;
  }

  #stop(why: string): void {
    this.#stopped = true;
    this.#waiting = [];
    this.report(`${this.path} ends here: ${why}`);
  }

  /** Resolves when all lines are in the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flushing;
    this.file.close();
  }
}
