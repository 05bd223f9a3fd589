/**
 * What ONNX Runtime itself answers, through onnxruntime-node.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Datatype, Tensor } from "../../../models/tensor.ts";
import type { NodeApiRequest, TensorText } from "./node_api_process.ts";

const TYPES: Partial<Record<Datatype, TensorText["type"]>> = { FP32: "float32", INT64: "int64" };
const DATATYPES: Readonly<Record<TensorText["type"], Datatype>> = {
  float32: "FP32",
  int64: "INT64",
};

/** Answers of onnxruntime-node, from a process of its own. */
export async function nodeApiAnswers(
  model: Uint8Array<ArrayBuffer>,
  requests: readonly (readonly Tensor[])[],
): Promise<Tensor[][]> {
  const input: NodeApiRequest = {
    model: model.toBase64(),
    requests: requests.map((request) => request.map(toText)),
  };
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", new URL("node_api_process.ts", import.meta.url).pathname],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  });
  await using process = command.spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(input)));
  await writer.close();
  const { success, stdout } = await process.output();
  assert.ok(success);
  const answers: TensorText[][] = JSON.parse(new TextDecoder().decode(stdout));
  return answers.map((answer) => answer.map(fromText));
}

function toText({ name, datatype, shape, data }: Tensor): TensorText {
  const type = TYPES[datatype];
  assert.ok(type !== undefined, `No text for ${datatype}`);
  return { name, type, shape, base64: data.toBase64() };
}

function fromText({ name, type, shape, base64 }: TensorText): Tensor {
  return { name, datatype: DATATYPES[type], shape, data: Uint8Array.fromBase64(base64) };
}
