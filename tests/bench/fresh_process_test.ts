import assert from "node:assert/strict";
import { scaleModel, truncated } from "../fixtures/onnx.ts";
import { callAfresh } from "./fresh_process.ts";

Deno.test("callAfresh() gives what the function gives", async () => {
  const y = await callAfresh("plainAnswer", scaleModel(2), Float32Array.of(1, 2, 3, 4), [1, 4]);
  assert.deepEqual(y, Float32Array.of(2, 4, 6, 8));
});

Deno.test("callAfresh() throws what the function threw when it throws", async () => {
  const broken = truncated(scaleModel(2));
  await assert.rejects(
    callAfresh("plainAnswer", broken, new Float32Array(4), [1, 4]),
    /^Error: plainAnswer: .*protobuf/is,
  );
});
