import assert from "node:assert/strict";
import { readExternalData } from "../../models/model_file.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { modelWith } from "../fixtures/model.ts";

const DATA = Uint8Array.from({ length: 10 }, (_, i) => i);

async function read(
  { location = "folder/weights.bin", offset = 2, length }: {
    readonly location?: string;
    readonly offset?: number;
    readonly length?: number;
  },
  bytes = 3,
): Promise<number[]> {
  await using repository = await repositoryWith({
    "m/folder/weights.bin": DATA,
    "other.bin": DATA,
  });
  const file = { path: `${repository.path}/m/model.onnx` };
  const model = modelWith("m", { inputs: [], outputs: [] }, { file });
  return [...await readExternalData(model, { location, offset, length }, bytes)];
}

Deno.test("readExternalData() reads a piece of a file beside the model", async () => {
  assert.deepEqual(await read({}), [2, 3, 4]);
  assert.deepEqual(await read({ length: 3 }), [2, 3, 4]);
  assert.deepEqual(await read({}, 0), []);
});

Deno.test("readExternalData() refuses a piece that is not as long as it has to be", async () => {
  await assert.rejects(read({ offset: 8 }), {
    code: "invalid_argument",
    message:
      'Model "m" version 1 keeps 3 bytes of weights in "folder/weights.bin" from byte 8 on; ' +
      "it says to the end, and 2 are there",
  });
  await assert.rejects(read({ length: 4 }), /it says 4, and 3 are there$/);
});

Deno.test("readExternalData() reads nothing outside the model's folder", async () => {
  await assert.rejects(read({ location: "../other.bin" }), {
    code: "invalid_argument",
    message: /outside the model's folder/,
  });
  await assert.rejects(read({ location: "gone.bin" }), /which is not there$/);
});
