/**
 * The four benchmark models with their requests and expected answers, written below `bench-out/`.
 * Everything comes from fixed seeds, so every machine measures the same.
 *
 * The repositories are what a Triton user would have: each model has a `config.pbtxt` with
 * `max_batch_size` and `dynamic_batching`. So the same folder also serves under Triton, and what is
 * measured does not depend on what a probe finds.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { identityModel, mlpModel, scaleModel, seededValues } from "../fixtures/onnx.ts";
import { callAfresh } from "./fresh_process.ts";
import { mobilenetModel } from "./mobilenet.ts";

/** Where the benchmarks write; ignored by git. */
export const BENCH_OUT: string = fileURLToPath(new URL("../../bench-out/", import.meta.url));

/** The form of a request: JSON numbers, or the protocol's binary extension both ways. */
export type Form = "json" | "binary";

/** A body on disk and the headers that go with it. */
export interface RequestFile {
  /** Where the body lies. */
  readonly path: string;
  /** All that a client must send besides what HTTP asks for. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A model, one request for it in each form, and the answer. */
export interface BenchModel {
  /** Its name in the repository. */
  readonly name: string;
  /** The same input in each form. */
  readonly requests: Readonly<Record<Form, RequestFile>>;
  /** The output's values, as onnxruntime-node computes them. */
  readonly expected: Float32Array;
}

/** What the benchmarks serve. */
export interface BenchModels {
  /** Triton's layout; holds one of each model. */
  readonly repository: string;
  /** Triton's layout; holds nine copies of `peer_mlp`, `mlp_1` to `mlp_9`. */
  readonly copies: string;
  /** Names of the copies. */
  readonly copyNames: readonly string[];
  /** What `repository` holds, by name. */
  readonly models: ReadonlyMap<string, BenchModel>;
}

interface Source {
  readonly name: string;
  readonly build: () => Uint8Array<ArrayBuffer>;
  /** Shapes without the batch. */
  readonly input: readonly number[];
  readonly output: readonly number[];
}

const SOURCES: readonly Source[] = [
  { name: "peer_small", build: () => scaleModel(2), input: [4], output: [4] },
  { name: "peer_mlp", build: () => mlpModel(), input: [784], output: [10] },
  { name: "peer_cnn", build: mobilenetModel, input: [3, 224, 224], output: [1000] },
  {
    name: "peer_wide",
    build: () => identityModel("FP32", ["batch", 150_000]),
    input: [150_000],
    output: [150_000],
  },
];

/** Writes models, repositories and requests anew and computes the expected answers. */
export async function writeModels(): Promise<BenchModels> {
  const repository = join(BENCH_OUT, "repository");
  const copies = join(BENCH_OUT, "copies");
  const copyNames = Array.from({ length: 9 }, (_, i) => `mlp_${i + 1}`);
  for (const folder of [repository, copies, join(BENCH_OUT, "requests")]) {
    await Deno.remove(folder, { recursive: true }).catch(ignoreNotFound);
    await Deno.mkdir(folder, { recursive: true });
  }
  const models = new Map<string, BenchModel>();
  for (const source of SOURCES) {
    const file = source.build();
    await writeModel(repository, source.name, source, file);
    if (source.name === "peer_mlp") {
      for (const name of copyNames) await writeModel(copies, name, source, file);
    }
    models.set(source.name, await writeRequests(source, file));
  }
  return { repository, copies, copyNames, models };
}

async function writeModel(
  repository: string,
  name: string,
  { input, output }: Source,
  file: Uint8Array,
): Promise<void> {
  await Deno.mkdir(join(repository, name, "1"), { recursive: true });
  await Deno.writeFile(join(repository, name, "1", "model.onnx"), file);
  await Deno.writeTextFile(
    join(repository, name, "config.pbtxt"),
    `name: "${name}"
platform: "onnxruntime_onnx"
max_batch_size: 32
input [{ name: "x" data_type: TYPE_FP32 dims: [${input}] }]
output [{ name: "y" data_type: TYPE_FP32 dims: [${output}] }]
dynamic_batching {}
`,
  );
}

async function writeRequests({ name, input }: Source, file: Uint8Array): Promise<BenchModel> {
  const shape = [1, ...input];
  const count = input.reduce((product, dim) => product * dim, 1);
  // Seven significant digits, as clients print an FP32 value.
  const texts = Array.from(seededValues(7, count), (value) => Math.abs(value).toPrecision(7));
  const values = Float32Array.from(texts, Number);
  const path = join(BENCH_OUT, "requests", name);

  const json = `{"inputs":[{"name":"x","shape":${JSON.stringify(shape)},"datatype":"FP32",` +
    `"data":[${texts.join(",")}]}]}`;
  await Deno.writeTextFile(`${path}.json`, json);

  const head = new TextEncoder().encode(JSON.stringify({
    inputs: [{
      name: "x",
      shape,
      datatype: "FP32",
      parameters: { binary_data_size: values.byteLength },
    }],
    outputs: [{ name: "y", parameters: { binary_data: true } }],
  }));
  const body = new Uint8Array(head.length + values.byteLength);
  body.set(head);
  body.set(new Uint8Array(values.buffer), head.length);
  await Deno.writeFile(`${path}.binary`, body);

  return {
    name,
    expected: await callAfresh("plainAnswer", file, values, shape),
    requests: {
      json: { path: `${path}.json`, headers: { "Content-Type": "application/json" } },
      binary: {
        path: `${path}.binary`,
        headers: {
          "Content-Type": "application/octet-stream",
          "Inference-Header-Content-Length": String(head.length),
        },
      },
    },
  };
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
