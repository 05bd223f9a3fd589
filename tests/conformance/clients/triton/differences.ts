/**
 * Where the gateway answers otherwise than Triton, on purpose, and why. Any other difference that
 * `compare.ts` sees is a fault.
 *
 * @module
 */
import type { PlainAnswer, PlainRequest } from "./http.ts";

/** One intended difference. */
export interface Difference {
  /** Why. */
  readonly reason: string;
  /** Whether it explains these two answers. */
  explains(request: PlainRequest, ours: PlainAnswer, triton: PlainAnswer): boolean;
}

/** A difference of the requests whose name or path matches. */
function of(pattern: RegExp, statuses: readonly [ours: number, triton: number], reason: string) {
  return {
    reason,
    explains: ({ name }: PlainRequest, ours: PlainAnswer, triton: PlainAnswer) =>
      pattern.test(name) && ours.status === statuses[0] && triton.status === statuses[1],
  };
}

/** All of them. */
export const DIFFERENCES: readonly Difference[] = [
  {
    reason: "A client's mistake is a 400",
    explains: (_request, ours, triton) => ours.status === 400 && triton.status === 500,
  },
  of(/nobody|versions\/7\//, [404, 400], "An unknown model is a 404 on every route"),
  of(/load of an unknown model/, [404, 500], "An unknown model is a 404 on every route"),
  of(/broken/, [503, 404], "A model that is known but not served is a 503 on every route"),
  of(/broken/, [503, 400], "A model that is known but not served is a 503 on every route"),
  of(/trace|logging/, [404, 200], "Tracing and logging are not advertised and not there"),
  of(/sharedmemory/, [404, 200], "Shared memory is not advertised and not there"),
  of(/^GET \/v2(\?|$)/, [200, 200], "The server's own name, version and extensions"),
  of(
    /^GET \/v2\/models\/(?!nobody|broken)/,
    [200, 200],
    "Another backend, and so another platform",
  ),
  of(/^index of/, [200, 200], "Triton's Python backend has no BF16, so there is no such model"),
  of(/^FP32 $/, [400, 200], "An empty body is no raw tensor: it got lost"),
  of(/^length header abc/, [400, 200], "A length header that is no number is no raw request"),
  of(
    /^Content-Encoding gzip, plain/,
    [400, 200],
    "A body that its coding cannot decode is refused",
  ),
  of(/^Content-Encoding GZIP/, [200, 501], "Names of codings have no case (RFC 9110, 8.4.1)"),
  of(/^BYTES that are no text/, [400, 200], "An answer is never invalid JSON"),
  of(/"INT32".*\[1\.0,2\]/, [200, 500], "JSON has one kind of number"),
  of(/"INT8".*\[128\]/, [400, 200], "Integers out of range do not wrap"),
  of(/sequence_id/, [400, 200], "Ignoring a sequence would give wrong answers"),
  of(/"id":"a","id":"b"/, [200, 200], "The last of equal JSON keys counts, as in JavaScript"),
];
