import assert from "node:assert/strict";
import { freeBody } from "../../../server/protocols/body.ts";
import { ask, binaryBody, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

Deno.test("freeBody() frees a large buffer, and none that may hold something else", () => {
  const whole = new Uint8Array(10_000);
  freeBody(whole);
  assert.equal(whole.buffer.detached, true);
  freeBody(whole); // twice is once

  const shared = new ArrayBuffer(20_000);
  freeBody(new Uint8Array(shared, 0, 10_000));
  assert.equal(shared.detached, false);

  const small = new Uint8Array(100);
  freeBody(small);
  assert.equal(small.buffer.detached, false);
});

Deno.test("infer frees a binary body when it has been answered, and not before", async () => {
  const model = fakeModel(
    "m",
    [{ name: "x", datatype: "UINT8", shape: [-1] }],
    [{ name: "y", datatype: "UINT8", shape: [-1] }],
  );
  const engine = fakeEngine([model]); // its outputs are views of its inputs
  await using app = testApp({ engine });
  const values = Uint8Array.from({ length: 10_000 }, (_, i) => i);
  const { body, headers } = binaryBody({
    inputs: [{
      name: "x",
      shape: [values.length],
      datatype: "UINT8",
      parameters: { binary_data_size: values.length },
    }],
    parameters: { binary_data_output: true },
  }, values);
  const { status, bytes } = await ask(app, "POST", "/v2/models/m/infer", body, headers);
  assert.equal(status, 200);
  assert.deepEqual(bytes.subarray(-values.length), values);
  assert.equal(engine.submitted[0].inputs[0].data.byteLength, 0);
});
