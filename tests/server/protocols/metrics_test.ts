import assert from "node:assert/strict";
import { generationStatistics } from "../../../server/generation/statistics.ts";
import { recurrentModel } from "../../fixtures/sequence_models.ts";
import { writer } from "../generation/scripted.ts";
import { ask, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const engine = fakeEngine([
  fakeModel("m", [{ name: "x", datatype: "FP32", shape: [-1] }], [], { version: 2 }),
]);
const app = testApp({ engine });

const SAMPLES = [
  'nv_inference_request_success{model="m",version="2"} 3',
  'nv_inference_request_failure{model="m",version="2",reason="REJECTED"} 1',
  'nv_inference_request_failure{model="m",version="2",reason="CANCELED"} 0',
  'nv_inference_count{model="m",version="2"} 4',
  'nv_inference_exec_count{model="m",version="2"} 2',
  'nv_inference_request_duration_us{model="m",version="2"} 3000',
  'nv_inference_queue_duration_us{model="m",version="2"} 600',
  'nv_inference_compute_input_duration_us{model="m",version="2"} 3',
  'nv_inference_compute_infer_duration_us{model="m",version="2"} 2000',
  'nv_inference_compute_output_duration_us{model="m",version="2"} 6',
  'nv_inference_pending_request_count{model="m",version="2"} 3',
  'sluice_max_joined_rows{model="m",version="2",reason="A fake"} 1',
  'sluice_queue_bytes{model="m",version="2"} 96',
  'sluice_running_requests{model="m",version="2"} 1',
  'sluice_open_sequences{model="m",version="2"} 2',
  'sluice_sequence_state_bytes{model="m",version="2"} 640',
  'sluice_device_seconds_total{model="m",version="2"} 0.00105',
  'sluice_lane_busy_seconds_total{lane="0"} 2.5',
  'sluice_lane_iterations_total{lane="0"} 7',
  'sluice_memory_bytes{model="m",class="persistent"} 300',
  'sluice_memory_bytes{model="",class="overhead"} 5',
  "sluice_memory_capacity_bytes 1000000",
  'sluice_policy_info{policy="fifo"} 1',
  "sluice_policy_fault 0",
  "sluice_ready 1",
  'sluice_request_duration_seconds_bucket{model="m",version="2",le="0.00025"} 0',
  'sluice_request_duration_seconds_bucket{model="m",version="2",le="0.0005"} 1',
  'sluice_request_duration_seconds_bucket{model="m",version="2",le="0.001"} 2',
  'sluice_request_duration_seconds_bucket{model="m",version="2",le="+Inf"} 3',
  'sluice_request_duration_seconds_sum{model="m",version="2"} 0.003',
  'sluice_request_duration_seconds_count{model="m",version="2"} 3',
  'sluice_queue_duration_seconds_count{model="m",version="2"} 3',
  'sluice_compute_duration_seconds_count{model="m",version="2"} 2',
];

Deno.test("GET /metrics gives every figure of the engine, the same at every scrape", async () => {
  for (let scrape = 0; scrape < 2; scrape++) {
    const { headers, text } = await ask(app, "GET", "/metrics");
    assert.equal(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const lines = text.split("\n");
    for (const sample of SAMPLES) {
      assert.equal(lines.filter((line) => line === sample).length, 1, sample);
    }
    assert.ok(lines.some((line) => /^process_cpu_seconds_total [\d.]+$/.test(line)));
    assert.ok(lines.some((line) => /^process_resident_memory_bytes \d+$/.test(line)));
  }
});

Deno.test("GET /metrics gives cumulative buckets that end in the count", async () => {
  const { text } = await ask(app, "GET", "/metrics");
  for (const name of ["request", "queue", "compute"]) {
    const buckets = [...text.matchAll(
      new RegExp(`^sluice_${name}_duration_seconds_bucket\\{.*le="(.*)"\\} (\\d+)$`, "gm"),
    )];
    const counts = buckets.map(([, , count]) => Number(count));
    assert.deepEqual(counts, counts.toSorted((a, b) => a - b));
    assert.equal(buckets.at(-1)?.[1], "+Inf");
  }
});

Deno.test("GET /metrics gives the tokens of models that generate text, and of no other", async () => {
  const engine = fakeEngine([writer(), fakeModel("m", [], [])]);
  const app = testApp({ engine });
  const scrape = async () =>
    (await ask(app, "GET", "/metrics")).text.split("\n").filter((line) =>
      /^sluice_(prompt|generated)_tokens|^sluice_time_.*_(sum|count)/.test(line)
    );
  const of = 'model="writer",version="1"';
  assert.deepEqual(await scrape(), [
    `sluice_prompt_tokens_total{${of}} 0`,
    `sluice_generated_tokens_total{${of}} 0`,
    `sluice_time_to_first_token_seconds_sum{${of}} 0`,
    `sluice_time_to_first_token_seconds_count{${of}} 0`,
    `sluice_time_between_tokens_seconds_sum{${of}} 0`,
    `sluice_time_between_tokens_seconds_count{${of}} 0`,
  ]);
  const statistics = generationStatistics(engine.find("writer"));
  statistics.promptTokens = 5;
  statistics.generatedTokens = 7;
  statistics.firstTokenMicros.recordValue(100);
  statistics.tokenGapMicros.recordValue(50);
  statistics.tokenGapMicros.recordValue(50);
  assert.deepEqual(await scrape(), [
    `sluice_prompt_tokens_total{${of}} 5`,
    `sluice_generated_tokens_total{${of}} 7`,
    `sluice_time_to_first_token_seconds_sum{${of}} 0.0001`,
    `sluice_time_to_first_token_seconds_count{${of}} 1`,
    `sluice_time_between_tokens_seconds_sum{${of}} 0.0001`,
    `sluice_time_between_tokens_seconds_count{${of}} 2`,
  ]);
});

Deno.test("GET /metrics says how many sequences are joined, of models that have any", async () => {
  const { sequence } = recurrentModel();
  const models = [fakeModel("plain", [], []), fakeModel("s", [], [], { sequence })];
  const { text } = await ask(testApp({ engine: fakeEngine(models) }), "GET", "/metrics");
  assert.deepEqual(text.match(/^sluice_max_joined_sequences.*/gm), [
    'sluice_max_joined_sequences{model="s",version="1",reason="declared"} 8',
  ]);
});
