import assert from "node:assert/strict";
import type { ErrorCode } from "../../../models/errors.ts";
import { formatManifest, type Manifest } from "../../../models/manifest.ts";
import type { SequenceRule } from "../../../models/model.ts";
import { FileRepository } from "../../../models/repository.ts";
import { onnxModel, quantisedModel } from "../../fixtures/onnx.ts";
import type { Initializer, ValueInfo } from "../../fixtures/onnx_writer.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

type Dims = readonly (number | string)[];

function fp32(name: string, ...shape: Dims): ValueInfo {
  return { name, datatype: "FP32", shape };
}

function int64(name: string, ...shape: Dims): ValueInfo {
  return { name, datatype: "INT64", shape };
}

/** Inputs and outputs, and nothing that would compute the one from the other. */
function declaring(
  inputs: readonly ValueInfo[],
  outputs: readonly ValueInfo[],
  initializers: readonly Initializer[] = [],
) {
  return onnxModel({ inputs, outputs, initializers, nodes: [] });
}

const RECURRENT = declaring(
  [fp32("x", "n", 4), fp32("state", 2, "n", 8)],
  [fp32("y", "n", 1), fp32("next", 2, "n", 8)],
);
const CARRY = { next: "state" };

interface Given {
  readonly manifest?: Manifest;
  readonly config?: string;
  readonly bytes?: Uint8Array;
}

async function read({ manifest = { carry: CARRY }, config, bytes = RECURRENT }: Given) {
  await using folder = await repositoryWith({
    "m/1/model.onnx": bytes,
    "m/manifest.json": formatManifest(manifest),
    ...(config && { "m/config.pbtxt": config }),
  });
  const warnings: string[] = [];
  const repository = new FileRepository(folder.path, { warn: (text) => warnings.push(text) });
  const [model] = await repository.read("m");
  return { model, warnings };
}

async function ruleOf(given: Given): Promise<SequenceRule> {
  return (await read(given)).model.sequence!;
}

async function refuses(given: Given, message: RegExp, code: ErrorCode = "invalid_argument") {
  await assert.rejects(read(given), refusal(code, message));
}

Deno.test("sequenceRule() gives what the manifest says", async () => {
  assert.deepEqual(await ruleOf({}), {
    carry: [
      { input: "state", output: "next", datatype: "FP32", shape: [2, 1, 8], batchAxis: 1 },
    ],
    batching: {
      maxRows: 32,
      join: false,
      reason: "Not probed yet",
      batchedInputs: [true, false],
      maxDelayMicros: 0,
      probe: true,
    },
    maxIdleMicros: 60e6,
    required: false,
    checkpoint: "m",
  });
  const set = await ruleOf({
    manifest: { carry: CARRY, maxIdleSeconds: 1.5, checkpoint: "other" },
  });
  assert.deepEqual([set.maxIdleMicros, set.checkpoint], [1.5e6, "other"]);
});

Deno.test("sequenceRule() is for models of which something carries over", async () => {
  assert.equal((await read({ manifest: {} })).model.sequence, undefined);
  const generation = { tokens: "a", position: "b", logits: "c", maxTokens: 1, endToken: 0 };
  for (const [key, value] of Object.entries({ maxIdleSeconds: 5, checkpoint: "n", generation })) {
    await refuses(
      { manifest: { [key]: value } },
      new RegExp(`^m/manifest\\.json: "${key}" is for .*; expected "carry" beside it$`),
    );
  }
});

Deno.test("sequenceRule() takes what an output's shape leaves open for the input's", async () => {
  for (
    const next of [
      fp32("next", "", "", ""),
      { name: "next", datatype: "FP32" } as const,
      fp32("next", "p", "q", 8),
    ]
  ) {
    const bytes = declaring([fp32("x", "", 4), fp32("state", 2, "", 8)], [fp32("y", "", 1), next]);
    const { carry, batching } = await ruleOf({ bytes });
    assert.deepEqual([carry[0].shape, carry[0].batchAxis], [[2, 1, 8], 1]);
    assert.ok(batching.probe, batching.reason);
  }
});

Deno.test("sequenceRule() refuses a carry that does not fit the model", async () => {
  const cases: [Record<string, string>, Uint8Array, RegExp][] = [
    [{ nxt: "state" }, RECURRENT, /"carry" names output "nxt"; the model has "y", "next"$/],
    [{ next: "stat" }, RECURRENT, /"carry" names input "stat"; the model has "x", "state"$/],
    [
      { next: "state", y: "state" },
      RECURRENT,
      /"carry" has "y" to "state" and "next" to "state"; expected one output for each input/,
    ],
    [
      CARRY,
      declaring([int64("state", 4)], [fp32("next", 4)]),
      /"next" to "state": the output is FP32 and the input INT64; expected the same$/,
    ],
    [
      CARRY,
      declaring([{ ...fp32("state", 4), datatype: "BYTES" }], [{
        ...fp32("next", 4),
        datatype: "BYTES",
      }]),
      /both are BYTES; expected numbers/,
    ],
    [
      CARRY,
      declaring([{ name: "state", datatype: "FP32" }], [fp32("next", 4)]),
      /the input declares no shape; expected one$/,
    ],
    [
      CARRY,
      declaring([fp32("state", "n", "past", 8)], [fp32("next", "n", "now", 8)]),
      /shape \[-1,-1,8\] with 2 free dimensions; expected at most one.* a fixed size and a mask$/,
    ],
    ...[fp32("next", 4, 9), fp32("next", 4), fp32("next", 1, 8)].map((next) =>
      [
        CARRY,
        declaring([fp32("state", "n", 8)], [next]),
        /the output has the shape \[[\d,]+\] and the input \[-1,8\]; expected the same sizes/,
      ] satisfies [Record<string, string>, Uint8Array, RegExp]
    ),
    [
      CARRY,
      declaring([fp32("state", 2, "n")], [fp32("next", "n", 2)]),
      /output has the shape \[-1,2\] and the input \[2,-1\].* free dimension at the same place$/,
    ],
  ];
  for (const [carry, bytes, message] of cases) {
    await refuses(
      { manifest: { carry }, bytes },
      new RegExp(`^m/manifest\\.json: .*${message.source}`),
    );
  }
});

Deno.test("sequenceRule() keeps to what a probe of sequences found", async () => {
  const probe = { join: true, reason: "Equal", batchedInputs: [true, false] };
  const versions = {
    1: {
      bytes: RECURRENT.length,
      sequenceBatching: probe,
      batching: { ...probe, join: false, reason: "Of plain requests" },
    },
  };
  const { model } = await read({ manifest: { carry: CARRY, versions } });
  const { batching } = model.sequence!;
  assert.deepEqual([batching.join, batching.probe, batching.reason], [true, false, "Equal"]);
  assert.deepEqual(batching.batchedInputs, [true, false]);
  assert.equal(model.batching.reason, "Of plain requests");
});

Deno.test("sequenceRule() says why sequences are not joined", async () => {
  const cases: [Uint8Array, Manifest, RegExp][] = [
    [
      declaring([fp32("x", "n", 4), fp32("state", 8)], [fp32("y", "n", 4), fp32("next", 8)]),
      {},
      /^Carried input "state" has no free dimension to join sequences along$/,
    ],
    [
      declaring([fp32("rate"), fp32("state", "n", 8)], [fp32("y", "n"), fp32("next", "n", 8)]),
      {},
      /^No input leads with a free dimension$/,
    ],
    [
      declaring(
        [fp32("x", "time", 4), fp32("state", "n", 8)],
        [fp32("y", "time", 4), fp32("next", "n", 8)],
      ),
      {},
      /^Inputs "x" and "state" have different free dimensions \(time, n\)$/,
    ],
    [
      declaring(
        [fp32("x", "n", 4), fp32("state", "n", 8)],
        [fp32("loss", 1), fp32("next", "n", 8)],
      ),
      {},
      /^Output "loss" does not lead with a free dimension/,
    ],
    [RECURRENT, { maxBatch: 1 }, /^Its manifest limits it to one row$/],
  ];
  for (const [bytes, manifest, reason] of cases) {
    const { batching } = await ruleOf({ bytes, manifest: { carry: CARRY, ...manifest } });
    assert.deepEqual([batching.join, batching.probe, batching.maxRows], [false, false, 1]);
    assert.match(batching.reason, reason);
  }
  const quantised = await read({ bytes: quantisedModel(), manifest: {} });
  const [input] = quantised.model.signature.inputs;
  const [output] = quantised.model.signature.outputs;
  const { batching } = await ruleOf({
    bytes: quantisedModel(),
    manifest: { carry: { [output.name]: input.name } },
  });
  assert.match(batching.reason, /quantises by the range of the whole batch/);
});

Deno.test("sequenceRule() of sequence_batching: every request is part of a sequence", async () => {
  const { model, warnings } = await read({
    manifest: { maxIdleSeconds: 7 },
    config: `
      input { name: "x" data_type: TYPE_FP32 dims: [-1, 4] }
      output { name: "y" }
      sequence_batching {
        oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 30 }
        max_sequence_idle_microseconds: 5000000
        state { input_name: "state" output_name: "next" data_type: TYPE_FP32 dims: [2, -1, 8] }
      }`,
  });
  const { required, maxIdleMicros, carry, batching } = model.sequence!;
  assert.deepEqual([required, maxIdleMicros, batching.probe], [true, 5e6, true]);
  assert.equal(model.batching.reason, "Its requests are all parts of sequences");
  assert.equal(model.batching.probe, false);
  assert.deepEqual(carry.map(({ input, output }) => [input, output]), [["state", "next"]]);
  assert.deepEqual(model.signature.inputs.map(({ name }) => name), ["x", "state"]);
  assert.deepEqual(model.signature.outputs.map(({ name }) => name), ["y", "next"]);
  assert.deepEqual(warnings, [
    "m/config.pbtxt: known to Triton, without effect here: " +
    '"sequence_batching.oldest.max_candidate_sequences"',
  ]);
  assert.deepEqual(
    [model.config.input, model.config.output].map((side) =>
      (side as { name: string }[]).map(({ name }) => name)
    ),
    [["x"], ["y"]],
  );
});

Deno.test("sequenceRule() takes the carry of the manifest for sequence_batching without states", async () => {
  const given = { config: "sequence_batching { direct { } }" };
  assert.equal((await ruleOf(given)).required, true);
  await refuses(
    { ...given, manifest: {} },
    /^m\/config\.pbtxt: "sequence_batching" has no "state"; expected one, or "carry" in m\/man/,
    "unsupported",
  );
});

Deno.test("sequenceRule() counts once what manifest and configuration both say, and takes 0 for no limit given", async () => {
  const state = 'state { input_name: "state" output_name: "next" }';
  const { carry, maxIdleMicros } = await ruleOf({
    manifest: { carry: CARRY, maxIdleSeconds: 7 },
    config: `sequence_batching { max_sequence_idle_microseconds: 0 ${state} }`,
  });
  assert.deepEqual(carry.map(({ input, output }) => [input, output]), [["state", "next"]]);
  assert.equal(maxIdleMicros, 7e6);
});

Deno.test("sequenceRule() lets max_batch_size vouch for the batch dimension", async () => {
  const batched = declaring(
    [fp32("x", "", 4), fp32("state", "", 8)],
    [fp32("y", "", 1), fp32("next", "", 8)],
  );
  const state = 'state { input_name: "state" output_name: "next" dims: [8] }';
  const direct = `direct { max_queue_delay_microseconds: 30 } ${state}`;
  const { batching, carry } = await ruleOf({
    bytes: batched,
    manifest: {},
    config: `max_batch_size: 4 sequence_batching { ${direct} }`,
  });
  assert.deepEqual(batching, {
    maxRows: 4,
    join: true,
    reason: "Its configuration has sequence_batching with max_batch_size 4",
    batchedInputs: [true, false],
    maxDelayMicros: 30,
    probe: false,
  });
  assert.equal(carry[0].batchAxis, 0);
  const plain = await read({ bytes: batched, config: "max_batch_size: 4 dynamic_batching { }" });
  assert.equal(plain.model.batching.join, true);
  assert.deepEqual(plain.model.batching.batchedInputs, [true, true]);
  assert.equal(plain.model.sequence!.batching.join, true);
  const none = await ruleOf({ bytes: batched, config: "max_batch_size: 0" });
  assert.equal(none.batching.reason, "Its configuration sets max_batch_size to 0");
});

Deno.test("sequenceRule() lets a state's dims fix what the file leaves open", async () => {
  const state = (dims: string) =>
    `sequence_batching { state {
    input_name: "state" output_name: "next" dims: ${dims} } }`;
  const [carried] = (await ruleOf({ manifest: {}, config: state("[2, 1, 8]") })).carry;
  assert.deepEqual([carried.shape, carried.batchAxis], [[2, 1, 8], -1]);
  await refuses(
    { manifest: {}, config: state("[2, 1, 9]") },
    /^m\/config\.pbtxt: input "state" has dims \[2,1,9\]; the model has \[2,-1,8\]$/,
  );
  await refuses(
    {
      manifest: { carry: { y: "x" } },
      bytes: declaring([fp32("x", "n", 4), fp32("w", "n", 4)], [fp32("y", "n", 4)]),
      config: 'sequence_batching { state { input_name: "w" output_name: "y" } }',
    },
    /^m\/config\.pbtxt: "sequence_batching\.state" has "y" to "w" and "y" to "x"; expected one/,
  );
  await refuses(
    { manifest: {}, config: 'sequence_batching { state { output_name: "next" } }' },
    /^m\/config\.pbtxt: "sequence_batching\.state" names input ""; the model has "x", "state"$/,
  );
});

Deno.test("sequenceRule() refuses parts of sequence_batching that would be served wrongly", async () => {
  const state = 'input_name: "state" output_name: "next"';
  const cases: [string, RegExp][] = [
    [
      `state { ${state} } control_input { name: "start" control { } }`,
      /"control_input" gives "start" the value of CONTROL_SEQUENCE_START; control inputs are not/,
    ],
    [
      `state { ${state} initial_state { data_file: "zeros" } }`,
      /"initial_state" of "state" is the file "zeros"; a state starts from/,
    ],
    [`state { ${state} } iterative_sequence: true`, /"iterative_sequence" is true; a sequence/],
  ];
  for (const [inner, message] of cases) {
    await refuses(
      { manifest: {}, config: `sequence_batching { ${inner} }` },
      new RegExp(`^m/config\\.pbtxt: "sequence_batching": ${message.source}`),
      "unsupported",
    );
  }
});

Deno.test("FileRepository.read() shows what carries over as Triton's sequence_batching", async () => {
  const { model } = await read({ manifest: { carry: CARRY, maxIdleSeconds: 2 } });
  const shown = model.config.sequence_batching as Record<string, unknown>;
  assert.deepEqual(shown.direct, {
    max_queue_delay_microseconds: 0,
    minimum_slot_utilization: 0,
  });
  assert.equal(shown.max_sequence_idle_microseconds, 2e6);
  assert.deepEqual(shown.state, [{
    input_name: "state",
    output_name: "next",
    data_type: "TYPE_FP32",
    dims: [2, -1, 8],
    initial_state: [],
    use_same_buffer_for_input_output: false,
    use_growable_memory: false,
  }]);
  // Plain requests may bring the state themselves.
  assert.equal((model.config.input as unknown[]).length, 2);
  assert.equal((await read({ manifest: {} })).model.config.sequence_batching, undefined);
});

Deno.test("FileRepository.read() hides what carries over where every request is in a sequence", async () => {
  const names = (side: unknown) => (side as { name: string }[]).map(({ name }) => name);
  // Output "x" passes the input on, which is no state itself.
  const bytes = declaring(
    [fp32("x", "n", 4), fp32("before", "n", 4)],
    [fp32("x", "n", 4), fp32("y", "n")],
  );
  const { model } = await read({
    bytes,
    manifest: { carry: { x: "before" } },
    config: "sequence_batching { }",
  });
  assert.deepEqual([names(model.config.input), names(model.config.output)], [["x"], ["y"]]);
});

Deno.test("FileRepository.read() notices settings of sequences that change", async () => {
  const generating = declaring(
    [int64("tokens", "n", "t"), int64("at", "n"), fp32("past", "n", 8)],
    [fp32("logits", "n", 260), fp32("present", "n", 8)],
  );
  const carry = { present: "past" };
  const generation = {
    tokens: "tokens",
    position: "at",
    logits: "logits",
    maxTokens: 8,
    endToken: 0,
  };
  const manifests: Manifest[] = [
    {},
    { carry },
    { carry, maxIdleSeconds: 3 },
    { carry, checkpoint: "other" },
    { carry, generation },
    { carry, generation: { ...generation, endToken: 256 } },
  ];
  await using folder = await repositoryWith({ "m/1/model.onnx": generating });
  const fingerprint = async (manifest: Manifest): Promise<string> => {
    await Deno.writeTextFile(`${folder.path}/m/manifest.json`, formatManifest(manifest));
    return (await new FileRepository(folder.path).read("m"))[0].fingerprint;
  };
  const fingerprints = await Array.fromAsync(manifests, fingerprint);
  assert.equal(new Set(fingerprints).size, manifests.length);
  const versions = { 1: { sequenceBatching: { join: false, reason: "", batchedInputs: [] } } };
  assert.equal(await fingerprint({ versions }), fingerprints[0]);
});

const GENERATION = {
  tokens: "tokens",
  position: "at",
  logits: "logits",
  maxTokens: 64,
  endToken: 256,
};

function decoder(
  changes: { inputs?: ValueInfo[]; outputs?: ValueInfo[]; initializers?: Initializer[] } = {},
) {
  const inputs = [int64("tokens", "n", "t"), int64("at", "n"), fp32("past", "n", 64, 8)];
  const outputs = [fp32("logits", "n", 257), fp32("present", "n", 64, 8)];
  const replaced = (specs: ValueInfo[], by: ValueInfo[] = []) => [
    ...specs.filter(({ name }) => !by.some((other) => other.name === name)),
    ...by,
  ];
  return declaring(
    replaced(inputs, changes.inputs),
    replaced(outputs, changes.outputs),
    changes.initializers,
  );
}

Deno.test("sequenceRule() of a model that generates text", async () => {
  const manifest = { carry: { present: "past" }, generation: GENERATION };
  assert.deepEqual((await ruleOf({ bytes: decoder(), manifest })).generation, GENERATION);
  // An input that has a value of its own need not be spoken of.
  const scale = { name: "scale", datatype: "FP32", shape: [], values: [1] } as const;
  const bytes = decoder({ inputs: [fp32("scale")], initializers: [scale] });
  assert.deepEqual((await ruleOf({ bytes, manifest })).generation, GENERATION);
});

Deno.test("sequenceRule() refuses a generation that does not fit the model", async () => {
  const cases: [Partial<typeof GENERATION>, Uint8Array, RegExp][] = [
    [
      { tokens: "text" },
      decoder(),
      /\.tokens" names "text"; the model has "tokens", "at", "past"$/,
    ],
    [{ logits: "past" }, decoder(), /\.logits" names "past"; the model has "logits", "present"$/],
    [{ tokens: "past" }, decoder(), /\.tokens" names "past", which is carried over; expected an/],
    [{ logits: "present" }, decoder(), /\.logits" names "present", which is carried over/],
    [
      {},
      decoder({ inputs: [fp32("tokens", "n", "t")] }),
      /\.tokens" names "tokens", FP32 of shape \[-1,-1\]; expected an input of INT64 of shape \[rows/,
    ],
    [{}, decoder({ inputs: [int64("tokens", "n", 1)] }), /\.tokens" names .* of shape \[-1,1\]; /],
    [
      {},
      decoder({ inputs: [int64("at", "n", 1)] }),
      /\.position" names "at", INT64 of shape \[-1,1/,
    ],
    [
      {},
      decoder({ outputs: [{ name: "logits", datatype: "FP32" }] }),
      /\.logits" names "logits", FP32 without a shape; expected an output of FP32 of shape \[rows, v/,
    ],
    [
      { endToken: 257 },
      decoder(),
      /\.endToken" is 257; expected 0 to 256, as "logits" has 257 scores$/,
    ],
    [
      {},
      decoder({ inputs: [fp32("mask", "n", 64)] }),
      /" says nothing of input "mask", which the model needs beside tokens, position/,
    ],
  ];
  for (const [changes, bytes, message] of cases) {
    const manifest = { carry: { present: "past" }, generation: { ...GENERATION, ...changes } };
    await refuses(
      { manifest, bytes },
      new RegExp(`^m/manifest\\.json: "generation${message.source}`),
    );
  }
});
