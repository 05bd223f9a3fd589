/**
 * A gateway that is kept busy on purpose, so that requests are sure to be waiting.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Tensor } from "../../models/tensor.ts";
import { relativeDifference } from "../../models/tensor_difference.ts";
import { infer } from "../../server/commands/demo/client.ts";
import { GatewayClient } from "../../server/commands/gateway_client.ts";
import { parseMetrics } from "../../server/commands/prometheus.ts";
import { seededValues, slowModel } from "../fixtures/onnx.ts";

const WIDTH = 512;
const FILE = slowModel(60, WIDTH);
/** Requests are not joined: a queue of many takes many iterations. */
const SEPARATE = "max_batch_size: 0\n";

/** A repository's files: two models. A request takes some milliseconds of one core. */
export const BUSY_MODELS: Readonly<Record<string, string | Uint8Array>> = {
  "first/1/model.onnx": FILE,
  "first/config.pbtxt": SEPARATE,
  "second/1/model.onnx": FILE,
  "second/config.pbtxt": SEPARATE,
};

/** Flags that keep the gateway to one iteration on one core, however many there are. */
export const ONE_AT_A_TIME = ["--lanes", "1", "--threads", "1"] as const;

/** Some seconds of a core. */
const LONG_ROWS = 4096;
/** Different requests that each model is asked. */
const KINDS = 8;

/** A client that knows the answers. */
export class KnownRequests {
  private constructor(readonly server: string, readonly answers: readonly Tensor[]) {}

  /** Asks for everything once, alone. */
  static async learn(server: string): Promise<KnownRequests> {
    const answers: Tensor[] = [];
    for (let kind = 0; kind < KINDS; kind++) {
      answers.push(...await infer(server, "first", [input(1, kind)]));
    }
    return new KnownRequests(server, answers);
  }

  /**
   * Makes `count` requests wait behind a long one.
   *
   * @returns Resolves when all have been answered, each with its own answer.
   */
  async pile(count: number): Promise<{ readonly answered: Promise<unknown> }> {
    const long = infer(this.server, "first", [input(LONG_ROWS, 0)]);
    await this.#until("sluice_running_requests", (running) => running > 0);
    const answered = Promise.all([long, ...Array.from({ length: count }, (_, i) => this.ask(i))]);
    const tooSoon = () => assert.fail("The requests were answered before all of them waited");
    await Promise.race([
      this.waiting((waiting) => waiting >= count),
      answered.then(tooSoon),
    ]);
    return { answered };
  }

  /** Sends request number `index`; fails unless its answer comes and is the right one. */
  async ask(index: number): Promise<void> {
    const kind = index % KINDS;
    const model = index % 2 === 0 ? "first" : "second";
    const [{ datatype, data }] = await infer(this.server, model, [input(1, kind)]);
    const difference = relativeDifference(datatype, data, this.answers[kind].data);
    assert.ok(difference <= 1e-5, `Request ${index} got the answer of another`);
  }

  /** Resolves when so many requests wait as `enough` says. */
  waiting(enough: (waiting: number) => boolean): Promise<void> {
    return this.#until("nv_inference_pending_request_count", enough);
  }

  async #until(gauge: string, enough: (value: number) => boolean): Promise<void> {
    const client = new GatewayClient(this.server);
    let sum: number;
    do {
      const samples = parseMetrics(await client.metrics()).get(gauge) ?? [];
      sum = samples.reduce((sum, { value }) => sum + value, 0);
    } while (!enough(sum));
  }
}

function input(rows: number, seed: number): Tensor {
  const values = Float32Array.from(seededValues(seed, rows * WIDTH));
  return {
    name: "x",
    datatype: "FP32",
    shape: [rows, WIDTH],
    data: new Uint8Array(values.buffer),
  };
}
