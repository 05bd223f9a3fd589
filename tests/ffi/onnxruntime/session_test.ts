import assert from "node:assert/strict";
import { Environment } from "../../../ffi/onnxruntime/environment.ts";
import { OnnxRuntimeError } from "../../../ffi/onnxruntime/errors.ts";
import { openOnnxRuntime } from "../../../ffi/onnxruntime/library.ts";
import { stableBytes } from "../../../ffi/onnxruntime/memory.ts";
import { RunArguments } from "../../../ffi/onnxruntime/run.ts";
import { Session } from "../../../ffi/onnxruntime/session.ts";
import { createStringTensor, readStrings, writeStrings } from "../../../ffi/onnxruntime/strings.ts";
import { copyTensor, tensorInfo, wrapTensor } from "../../../ffi/onnxruntime/values.ts";
import { mlpModel, onnxModel, truncated } from "../../fixtures/onnx.ts";

async function withEnvironment(check: (environment: Environment) => Promise<void> | void) {
  using runtime = openOnnxRuntime();
  using environment = new Environment(runtime, { threads: 2, spin: false, arenaBytes: 1 << 30 });
  await check(environment);
}

Deno.test("Session.load() throws what is wrong with a model", async () => {
  await withEnvironment(async (environment) => {
    const options = { sharedArena: true };
    await assert.rejects(
      Session.load(environment, truncated(mlpModel()), options),
      (error) => error instanceof OnnxRuntimeError && error.codeName === "INVALID_PROTOBUF",
    );
    await assert.rejects(
      Session.load(environment, "/no/such/model.onnx", options),
      (error) => error instanceof OnnxRuntimeError && error.codeName === "NO_SUCHFILE",
    );
    await assert.rejects(
      Session.load(environment, mlpModel(), { ...options, signal: AbortSignal.abort() }),
      (error) => error instanceof OnnxRuntimeError && error.codeName === "MODEL_LOAD_CANCELED",
    );
  });
});

Deno.test("RunArguments runs in place and off the event loop, into bound outputs and new ones", async () => {
  await withEnvironment(async (environment) => {
    const { runtime } = environment;
    const model = onnxModel({
      inputs: [{ name: "x", datatype: "FP32", shape: ["n"] }],
      outputs: [{ name: "y", datatype: "FP32", shape: ["n"] }],
      nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
    });
    using session = await Session.load(environment, model, { sharedArena: false });
    const input = stableBytes(8), output = stableBytes(8);
    const x = wrapTensor(environment, "float", [2], input);
    const y = wrapTensor(environment, "float", [2], output);
    const run = new RunArguments(session, ["x"], ["y"]);
    run.setInput(0, x);

    new Float32Array(input.buffer).set([1, 2]);
    run.run();
    const made = run.takeOutput(0);
    assert.ok(made !== null);
    assert.deepEqual(tensorInfo(runtime, made), { elementType: "float", shape: [2] });
    const copied = stableBytes(8);
    copyTensor(runtime, made, copied);
    assert.deepEqual([...new Float32Array(copied.buffer, 0, 2)], [-1, -2]);
    runtime.api.ReleaseValue.call(made);

    run.setOutput(0, y);
    for (const value of [3, 4, 5]) {
      new Float32Array(input.buffer).set([value, value]);
      await run.runNonblocking();
      assert.deepEqual([...new Float32Array(output.buffer, 0, 2)], [-value, -value]);
    }
    for (const tensor of [x, y]) runtime.api.ReleaseValue.call(tensor);
  });
});

Deno.test("Session tells what its arena holds", async () => {
  await withEnvironment(async (environment) => {
    using session = await Session.load(environment, mlpModel(), { sharedArena: false });
    const { inUse, maxInUse, allocated } = session.arenaStatistics();
    assert.ok(inUse > 0 && inUse <= maxInUse && maxInUse <= allocated);
    session[Symbol.dispose]();
  });
});

Deno.test("writeStrings() and readStrings() carry any bytes", async () => {
  await withEnvironment(({ runtime }) => {
    const tensor = createStringTensor(runtime, [2, 2]);
    const elements = [[1, 0, 2], [], [0xff, 0x80], [0]];
    writeStrings(runtime, tensor, {
      bytes: Uint8Array.from(elements.flatMap((bytes) => [...bytes, 0])),
      starts: Float64Array.of(0, 4, 5, 8),
      ends: Float64Array.of(3, 4, 7, 9),
    });
    assert.deepEqual(tensorInfo(runtime, tensor), { elementType: "string", shape: [2, 2] });
    assert.deepEqual(readStrings(runtime, tensor, 4), {
      bytes: Uint8Array.from(elements.flat()),
      starts: Float64Array.of(0, 3, 3, 5),
    });
    assert.deepEqual(readStrings(runtime, tensor, 0), {
      bytes: new Uint8Array(0),
      starts: new Float64Array(0),
    });
    runtime.api.ReleaseValue.call(tensor);
  });
});

Deno.test("Environment is opened and disposed of many times, and twice at once", async () => {
  for (let i = 0; i < 5; i++) {
    await withEnvironment(async (first) => {
      await withEnvironment(async (second) => {
        for (const environment of [first, second]) {
          using session = await Session.load(environment, mlpModel(1, [4, 2]), {
            sharedArena: true,
          });
          assert.ok(session.arenaStatistics().allocated > 0);
        }
      });
      first[Symbol.dispose]();
    });
  }
});
