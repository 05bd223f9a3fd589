/**
 * The garbage collector of another Deno process, through its debugging port.
 *
 * @module
 */

/** A connection to a process that was started with `--inspect`. */
export class GarbageCollector implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, () => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id }: { id?: number } = JSON.parse(data);
      if (id !== undefined) this.#waiting.get(id)?.();
    };
  }

  /**
   * Connects.
   *
   * @param announced What the process has written, with the debugger's address in it.
   */
  static async of(announced: string): Promise<GarbageCollector> {
    const [url] = /ws:\/\/\S+/.exec(announced) ?? [];
    if (url === undefined) throw new TypeError(`No debugger's address in: ${announced}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new GarbageCollector(socket);
  }

  /** Has everything collected that nobody refers to. */
  async run(): Promise<void> {
    const id = ++this.#calls;
    const done = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await done;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
