import assert from "node:assert/strict";
import fc from "fast-check";
import { EventStream } from "./event_stream.ts";

/** The data of all events, the stream's bytes cut at these places. */
function read(text: string, cuts: readonly number[]): string[] {
  const bytes = new TextEncoder().encode(text);
  const at = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
  const stream = new EventStream();
  return [...at, bytes.length].flatMap((end, index) =>
    stream.push(bytes.subarray(at[index - 1] ?? 0, end))
  );
}

const STREAM =
  ': a comment\n\ndata: {"text_output":"é€😀"}\r\n\r\nevent: x\ndata:one\ndata:  two\n\n' +
  "id: 7\rdata\r\rretry: 3\n\ndata: cut off";

Deno.test("EventStream gives the same events wherever the chunks end", () => {
  fc.assert(fc.property(fc.array(fc.nat()), (cuts) => {
    assert.deepEqual(read(STREAM, cuts), ['{"text_output":"é€😀"}', "one\n two", ""]);
  }));
});

Deno.test("EventStream gives an event as soon as its last byte has come", () => {
  const stream = new EventStream();
  const push = (text: string) => stream.push(new TextEncoder().encode(text));
  assert.deepEqual(push("data: a\n"), []);
  assert.deepEqual(push("\ndata: b\r\n\r"), ["a"]);
  assert.deepEqual(push("\n"), ["b"]);
});
