import assert from "node:assert/strict";
import { VirtualClock } from "../../../models/clock.ts";
import { SluiceError } from "../../../models/errors.ts";
import {
  type Ending,
  Generation,
  type TextReader,
  type TextRequest,
  type TextTiming,
} from "../../../server/generation/generation.ts";
import { generationStatistics } from "../../../server/generation/statistics.ts";
import { fakeEngine } from "../protocols/fake_engine.ts";
import {
  certain,
  RULE,
  saying,
  type Script,
  ScriptedSequence,
  TIMING,
  VOCABULARY,
  writer,
} from "./scripted.ts";

const encoder = new TextEncoder();

/** Keeps what it is given, and wants more until it has `wanted` pieces. */
class Pieces implements TextReader {
  readonly pieces: string[] = [];
  readonly errors: SluiceError[] = [];
  ending: Ending | undefined;
  timing: TextTiming | undefined;

  constructor(public wanted = Infinity) {}

  get text(): string {
    return this.pieces.join("");
  }

  write(text: string, timing: TextTiming): boolean {
    this.pieces.push(text);
    this.timing = { ...timing };
    return this.pieces.length < this.wanted;
  }
  end(ending: Ending, timing: TextTiming): void {
    this.ending = ending;
    this.timing = { ...timing };
  }
  fail(error: SluiceError): void {
    this.errors.push(error);
  }
}

const ASKED: TextRequest = {
  id: "",
  prompt: encoder.encode("Once"),
  maxTokens: 100,
  sampling: { temperature: 0, topK: 0, topP: 1, seed: 1 },
  stop: [],
  priority: 0,
  timeoutMicros: 0,
};

/** A text that is asked for; nothing has run yet. */
function started(script: Script, asked: Partial<TextRequest> = {}, reader = new Pieces()) {
  const clock = new VirtualClock();
  const opened: ScriptedSequence[] = [];
  const engine = fakeEngine([writer()], {
    open(request) {
      opened.push(new ScriptedSequence(request, script));
      return opened[0];
    },
  });
  const served = engine.find("writer");
  const generation = new Generation(served, RULE, { ...ASKED, ...asked }, reader, clock);
  generation.start(engine);
  return { generation, sequence: opened[0], reader, clock, served };
}

Deno.test("Generation gives the prompt in powers of two, then a token at a time", () => {
  const prompt = "x".repeat(200);
  const { generation, sequence, reader } = started(saying(prompt, "abc"), {
    prompt: encoder.encode(prompt),
  });
  sequence.run();
  assert.deepEqual(sequence.given, [64, 64, 64, 8, 1, 1, 1, 1]);
  assert.deepEqual(sequence.cache.slice(0, 2), [RULE.endToken, "x".charCodeAt(0)]);
  assert.deepEqual(sequence.cache.slice(-3), [...encoder.encode("abc")]);
  assert.equal(reader.text, "abc");
  assert.deepEqual(reader.ending, { reason: "stop", promptTokens: 201, completionTokens: 4 });
  assert.equal(generation.iterations, 5 + 99);
});

Deno.test("Generation uses at most 7 shapes whatever the prompt's length", () => {
  const shapes = new Set<number>();
  for (let length = 0; length < 200; length++) {
    const prompt = "x".repeat(length);
    const { generation, sequence, reader } = started(saying(prompt, "ab"), {
      prompt: encoder.encode(prompt),
      maxTokens: 2,
    });
    sequence.run();
    for (const size of sequence.given) shapes.add(size);
    assert.equal(reader.text, "ab");
    assert.equal(sequence.iterationsDone, generation.iterations, "as declared");
  }
  assert.deepEqual([...shapes].toSorted((a, b) => a - b), [1, 2, 4, 8, 16, 32, 64]);
});

Deno.test("Generation ends after max_tokens, and says so", () => {
  const { sequence, reader } = started(saying("Once", "abcdef"), { maxTokens: 3 });
  sequence.run();
  assert.equal(reader.text, "abc");
  assert.deepEqual(reader.ending, { reason: "length", promptTokens: 5, completionTokens: 3 });
});

Deno.test("Generation ends at a stop string, which is no part of the text", () => {
  const { sequence, reader } = started(saying("Once", "one. two. three."), {
    stop: [encoder.encode(". t"), encoder.encode("three")],
  });
  sequence.run();
  assert.equal(reader.text, "one");
  assert.deepEqual(reader.ending, { reason: "stop", promptTokens: 5, completionTokens: 6 });
});

Deno.test("Generation gives at its end what it held back", () => {
  const { sequence, reader } = started(saying("Once", "ab"), { stop: [encoder.encode("bc")] });
  sequence.run();
  assert.deepEqual(reader.pieces, ["a", "b"]);
  const broken = started(saying("Once", new Uint8Array([0x61, 0xe2])), { maxTokens: 2 });
  broken.sequence.run();
  assert.deepEqual(broken.reader.pieces, ["a", "\uFFFD"]);
});

Deno.test("Generation waits while its reader wants no more, and goes on where it was", () => {
  const { generation, sequence, reader } = started(saying("Once", "abcdef"), {}, new Pieces(2));
  sequence.run();
  assert.equal(reader.text, "ab");
  assert.ok(sequence.waiting);
  reader.wanted = 4;
  generation.resume();
  generation.resume();
  sequence.run();
  assert.equal(reader.text, "abcd");
  reader.wanted = Infinity;
  generation.resume();
  sequence.run();
  assert.equal(reader.text, "abcdef");
  assert.deepEqual(sequence.cache.slice(5), [...encoder.encode("abcdef")]);
});

Deno.test("Generation.resume() does nothing while nobody waits", () => {
  const { generation, sequence, reader } = started(saying("Once", "abc"));
  generation.resume();
  sequence.step();
  generation.resume();
  sequence.run();
  generation.resume();
  assert.equal(reader.text, "abc");
});

Deno.test("Generation.resume() leaves what is left of the time", () => {
  for (const [timeoutMicros, left] of [[0, 0], [5000, 3000], [1000, 1]]) {
    const { generation, sequence, clock } = started(
      saying("Once", "abc"),
      { timeoutMicros },
      new Pieces(1),
    );
    sequence.run();
    clock.advanceTo(2000);
    generation.resume();
    assert.equal(sequence.fed?.timeoutMicros, left);
  }
});

Deno.test("Generation.resume() fails the text when the engine does not take it back", () => {
  const { generation, sequence, reader } = started(saying("Once", "abc"), {}, new Pieces(1));
  sequence.run();
  const full = new SluiceError("queue_full", "The queue is full");
  sequence.feed = () => {
    throw full;
  };
  generation.resume();
  assert.deepEqual(reader.errors, [full]);
  assert.ok(sequence.ended);
});

Deno.test("Generation.stop() ends the sequence", () => {
  const { generation, sequence, reader } = started(saying("Once", "abc"));
  sequence.step();
  generation.stop();
  assert.ok(sequence.ended);
  // What comes too late is not for the reader any more.
  assert.equal(generation.advance([], TIMING), "end");
  generation.fail(new SluiceError("cancelled", "The client left"));
  assert.deepEqual([reader.text, reader.errors, reader.ending], ["", [], undefined]);
});

Deno.test("Generation fails when the model gives no logits, or a token that is no byte", () => {
  const nan = started(() => new Float32Array(VOCABULARY).fill(NaN));
  const other = started(() => new Float32Array(300).fill(1, 299));
  for (
    const [{ sequence, reader }, message] of [
      [nan, /NaN as the logit of token 0/],
      [other, /chose token 299, expected a byte or its end token, 256/],
    ] as const
  ) {
    sequence.run();
    assert.ok(sequence.over);
    assert.equal(reader.errors.length, 1);
    assert.equal(reader.errors[0].code, "execution_failed");
    assert.match(reader.errors[0].message, message);
    assert.equal(reader.ending, undefined);
  }
});

Deno.test("Generation draws the same text from the same seed", () => {
  const even: Script = (cache) => cache.length < 5 ? certain(0) : new Float32Array(VOCABULARY);
  const text = (seed: number) => {
    const { sequence, reader } = started(even, {
      maxTokens: 20,
      sampling: { ...ASKED.sampling, temperature: 1, seed },
    });
    sequence.run();
    return reader.text;
  };
  assert.equal(text(1), text(1));
  assert.notEqual(text(1), text(2));
});

Deno.test("Generation tells how its time was spent, and leaves out what it waited for", () => {
  const { generation, sequence, reader, clock, served } = started(
    saying("Once", "abc"),
    {},
    new Pieces(2),
  );
  const tick = (micros: number) => clock.advanceTo(clock.nowMicros() + micros);
  tick(1000);
  sequence.step(); // 4 tokens of the prompt
  tick(500);
  sequence.step(); // the last, and so "a"
  tick(300);
  sequence.step(); // "b"
  tick(9_000_000);
  generation.resume();
  tick(200);
  sequence.step(); // "c"
  tick(100);
  reader.wanted = Infinity;
  generation.resume();
  tick(100);
  sequence.step();
  assert.deepEqual(reader.timing, {
    queueMicros: 12,
    firstTokenMicros: 1500,
    computeMicros: 200,
    iterations: 5,
    because: "oldest first",
  });
  const { promptTokens, generatedTokens, firstTokenMicros, tokenGapMicros } = generationStatistics(
    served,
  );
  assert.deepEqual([promptTokens, generatedTokens], [5, 4]);
  assert.equal(firstTokenMicros.totalCount, 1);
  assert.ok(Math.abs(firstTokenMicros.maxValue - 1500) <= 15);
  assert.equal(tokenGapMicros.totalCount, 3);
  assert.ok(Math.abs(tokenGapMicros.maxValue - 300) <= 3, "not the wait for the reader");
});

Deno.test("Generation counts nothing when it is not admitted", () => {
  const engine = fakeEngine([writer()]);
  const served = engine.find("writer");
  const reader = new Pieces();
  const generation = new Generation(served, RULE, ASKED, reader, new VirtualClock());
  generation.start(engine);
  generation.resume();
  generation.stop();
  assert.deepEqual(reader.errors.map(({ code }) => code), ["queue_full"]);
  assert.equal(generationStatistics(served).promptTokens, 0);
});
