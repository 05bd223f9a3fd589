/**
 * A server of the protocol with one model, for tests of the load generator: as `fetch` on a virtual
 * clock, or behind a port.
 *
 * @module
 */
import { type Clock, VirtualClock } from "../../models/clock.ts";
import type { Fetch } from "./target.ts";

/** What the fake server's model takes. */
export const METADATA = {
  name: "toy",
  versions: ["1"],
  inputs: [{ name: "x", datatype: "FP32", shape: [-1, 4] }],
  outputs: [],
};

/** Answers a request of the protocol; `infer` answers inference and generation. */
export async function answer(
  request: Request,
  infer: (request: Request) => Response | Promise<Response>,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (/\/(infer|generate_stream)$/.test(pathname)) return await infer(request);
  if (pathname === "/v2") return Response.json({ extensions: ["binary_tensor_data"] });
  if (/^\/v2\/models\/(toy|other)$/.test(pathname)) return Response.json(METADATA);
  return Response.json({ error: `no route ${pathname}` }, { status: 404 });
}

/**
 * `fetch` that reaches a made-up server.
 *
 * @param answeredAt When a request that comes now is answered, microseconds.
 */
export function virtualFetch(clock: Clock, answeredAt: (nowMicros: number) => number): Fetch {
  return (url, init) =>
    answer(new Request(url, init), () => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      clock.at(answeredAt(clock.nowMicros()), () => resolve(new Response(null)));
      init.signal?.addEventListener("abort", () => reject(init.signal!.reason));
      return promise;
    });
}

/** An event of a stream, microseconds after the request. */
export type TimedEvent = readonly [afterMicros: number, data: string];

/** `fetch` that reaches a made-up server whose answers come in pieces. */
export function virtualStream(
  clock: Clock,
  events: (request: Request) => Promise<readonly TimedEvent[]>,
): Fetch {
  return (url, init) =>
    answer(new Request(url, init), async (request) => {
      const start = clock.nowMicros();
      const timed = await events(request);
      const body = new ReadableStream({
        start(controller) {
          const timers = timed.map(([after, data]) => {
            const bytes = new TextEncoder().encode(`data: ${data}\n\n`);
            return clock.at(start + after, () => controller.enqueue(bytes));
          });
          timers.push(clock.at(start + (timed.at(-1)?.[0] ?? 0), () => controller.close()));
          init.signal?.addEventListener("abort", () => {
            for (const timer of timers) timer.cancel();
            controller.error(init.signal!.reason);
          });
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
}

/** Moves the clock from one call that is due to the next until `work` is done. */
export async function inVirtualTime<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let done = false;
  const ended = () => void (done = true);
  work.then(ended, ended);
  while (!done) {
    // All that follows from the last call happens before time goes on.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (clock.nextMicros < Infinity) clock.advanceTo(clock.nextMicros);
  }
  return await work;
}
