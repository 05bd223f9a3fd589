/**
 * Server-sent events, as far as answers that come in pieces use them: the data of each event.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 * @module
 */

/** Takes a stream apart, wherever its chunks begin and end: within a line or a character. */
export class EventStream {
  readonly #decoder = new TextDecoder();
  /** The line that has not ended yet. */
  #line = "";
  #data: string[] = [];

  /** The data of the events that end with this chunk. One that never ends is none. */
  push(chunk: Uint8Array): string[] {
    const text = this.#line + this.#decoder.decode(chunk, { stream: true });
    // A line feed may still follow a carriage return at the very end.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#line = lines.pop()!;
    const ended: string[] = [];
    for (const line of lines) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      if (field === "data") this.#data.push(value);
      else if (line === "" && this.#data.length > 0) {
        ended.push(this.#data.join("\n"));
        this.#data = [];
      }
    }
    return ended;
  }
}
