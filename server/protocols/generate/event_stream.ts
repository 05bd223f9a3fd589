/**
 * A text as Server-Sent Events, one for each piece. The response begins with the first of them, so
 * that what fails before has a status of its own.
 *
 * @module
 */
import type { SluiceError } from "../../../models/errors.ts";
import type { Ending, Generation, TextReader, TextTiming } from "../../generation/generation.ts";
import { formatTextTiming } from "../server_timing.ts";
import { endingFields, type TextHead } from "./fields.ts";

/** Events that are made before a reader takes them; then its sequence waits. */
const UNREAD_BYTES = 16 * 1024;

const encoder = new TextEncoder();

/** Writes one text as a stream of events. */
export class EventStream implements TextReader {
  readonly #head: TextHead;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (error: SluiceError) => void;
  readonly #body: ReadableStream<Uint8Array<ArrayBuffer>>;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #begun = false;
  /** The reader has left: there is nobody to send to. */
  #gone = false;
  #generation: Generation | undefined;
  /** Events of the scheduler's turn that is under way: they leave together, in one write. */
  #unsent = "";

  /**
   * Nothing is sent yet.
   *
   * @param resolve Given the response with the first piece.
   * @param reject Given the error where there is none.
   */
  constructor(
    head: TextHead,
    resolve: (response: Response) => void,
    reject: (error: SluiceError) => void,
  ) {
    this.#head = head;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#generation?.resume(),
      cancel: () => {
        this.#gone = true;
        this.#generation?.stop();
      },
    }, new ByteLengthQueuingStrategy({ highWaterMark: UNREAD_BYTES }));
  }

  /** Follows the reader: its text waits for it, and ends with it. */
  drives(generation: Generation): void {
    this.#generation = generation;
  }

  write(text: string, timing: TextTiming): boolean {
    this.#send({ ...this.#head, text_output: text, done: false });
    this.#begin(timing);
    return (this.#controller.desiredSize ?? 0) > this.#unsent.length;
  }

  end(ending: Ending, timing: TextTiming): void {
    this.#sendLast({ ...this.#head, text_output: "", done: true, ...endingFields(ending) });
    this.#begin(timing);
  }

  fail(error: SluiceError): void {
    if (!this.#begun) return this.#reject(error);
    this.#sendLast({ error: error.message.toWellFormed(), code: error.code });
  }

  #begin(timing: TextTiming): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#resolve(
      new Response(this.#body, {
        headers: {
          "content-type": "text/event-stream; charset=utf-8",
          "cache-control": "no-store",
          "server-timing": formatTextTiming(timing),
        },
      }),
    );
  }

  #sendLast(event: Readonly<Record<string, unknown>>): void {
    this.#send(event);
    this.#flush();
    if (!this.#gone) this.#controller.close();
  }

  #send(event: Readonly<Record<string, unknown>>): void {
    if (this.#gone) return;
    if (this.#unsent === "") queueMicrotask(this.#flush);
    this.#unsent += `data: ${JSON.stringify(event)}\n\n`;
  }

  /** Where the connection has broken, it is now that the stream is cancelled. */
  readonly #flush = (): void => {
    const unsent = this.#unsent;
    if (unsent === "" || this.#gone) return;
    this.#unsent = "";
    this.#controller.enqueue(encoder.encode(unsent));
  };
}
