import assert from "node:assert/strict";
import { join } from "node:path";
import { FileRepository } from "../../models/repository.ts";
import { SluiceError } from "../../models/errors.ts";
import * as fixtures from "../fixtures/onnx.ts";
import { repositoryWith } from "../fixtures/repository.ts";

function refuses(code: string, pattern: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof SluiceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

Deno.test("FileRepository.list() names the folders that can be models, sorted", async () => {
  await using folder = await repositoryWith({
    "b/1/model.onnx": fixtures.scaleModel(),
    "a/1/model.onnx": fixtures.scaleModel(),
    ".hidden/1/model.onnx": "",
    "not a name/1/model.onnx": "",
    "file.txt": "",
  });
  assert.deepEqual(await new FileRepository(folder.path).list(), ["a", "b"]);
});

Deno.test("FileRepository.read() gives the newest version of a plain model", async () => {
  await using folder = await repositoryWith({
    "scale/1/model.onnx": fixtures.scaleModel(1),
    "scale/10/model.onnx": fixtures.scaleModel(10),
    "scale/9/model.onnx": fixtures.scaleModel(9),
  });
  const [model, ...others] = await new FileRepository(folder.path).read("scale");
  assert.deepEqual(others, []);
  assert.equal(model.version, 10);
  assert.equal(model.file.path, join(await Deno.realPath(folder.path), "scale/10/model.onnx"));
  assert.equal(model.fileBytes, fixtures.scaleModel(10).byteLength);
  assert.equal(model.maxBatchSize, 0);
  assert.deepEqual(model.signature, {
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 4], dimNames: ["batch", undefined] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4], dimNames: ["batch", undefined] }],
    notServed: [],
  });
  assert.equal(model.batching.probe, true);
  assert.equal(model.batching.join, false);
});

Deno.test("FileRepository.read() says not found for names that are not there or are no names", async () => {
  await using folder = await repositoryWith({});
  const repository = new FileRepository(folder.path);
  for (const name of ["missing", "", ".", "..", "../x", "/etc", "a/b", "a\0b", ".hidden"]) {
    await assert.rejects(repository.read(name), refuses("not_found", /There is no model/));
  }
});
