import assert from "node:assert/strict";
import { readInitializers } from "../../../models/onnx/initializers.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { CheckpointWriter } from "../../../server/jobs/checkpoint_writer.ts";
import { fp32 } from "../../fixtures/onnx.ts";
import { descentModel } from "../../fixtures/sequence_models.ts";
import { valuesOf } from "./descent.ts";
import { FakeCheckpoints } from "./fake_checkpoints.ts";

const state = (value: number): Tensor[] => [
  { name: "w", datatype: "FP32", shape: [4], data: fp32([value, 0, 0, 0]) },
];

function writerOf(serve = () => Promise.resolve()) {
  const store = new FakeCheckpoints("descent", descentModel().file.bytes!);
  return { store, writer: new CheckpointWriter({ store, model: "descent", jobId: "j", serve }) };
}

Deno.test("CheckpointWriter.write() puts the state into a copy of the newest version", async () => {
  const served: number[] = [];
  const { store, writer } = writerOf(() =>
    Promise.resolve(void served.push(store.versions.length))
  );
  await writer.write(state(7), 30);
  const { version, bytes, job } = store.versions[1];
  assert.deepEqual({ version, job }, { version: 2, job: { id: "j", iterations: 30 } });
  const w = readInitializers(bytes, new Set(["w"]), "descent/2").get("w")!;
  assert.deepEqual(valuesOf(w), [7, 0, 0, 0]);
  assert.deepEqual(writer.kept, [{ model: "descent", version: 2, iterations: 30 }]);
  assert.deepEqual(served, [2]);
});

Deno.test("CheckpointWriter.write() writes one at a time, and the same iterations once", async () => {
  const { store, writer } = writerOf();
  const began = Promise.withResolvers<void>();
  const disk = Promise.withResolvers<void>();
  let writes = 0;
  store.beforeAdd = () => {
    writes++;
    began.resolve();
    return disk.promise;
  };
  writer.write(state(1), 10);
  writer.write(state(2), 20);
  const last = writer.write(state(2), 20);
  await began.promise;
  assert.ok(writer.busy);
  assert.equal(writes, 1);
  disk.resolve();
  await last;
  assert.equal(writes, 2);
  assert.ok(!writer.busy);
  assert.deepEqual(writer.kept.map(({ iterations }) => iterations), [10, 20]);
});

Deno.test("CheckpointWriter.write() keeps only the newest of those that wait for the disk", async () => {
  const { store, writer } = writerOf();
  const disk = Promise.withResolvers<void>();
  store.beforeAdd = () => disk.promise;
  for (const iterations of [10, 20, 30, 40]) writer.write(state(iterations), iterations);
  disk.resolve();
  await writer.settled();
  assert.deepEqual(writer.kept.map(({ iterations }) => iterations), [10, 40]);
});

Deno.test("CheckpointWriter.kept has the last five, which the repository keeps", async () => {
  const { writer } = writerOf();
  for (let i = 1; i <= 7; i++) await writer.write(state(i), i);
  assert.deepEqual(writer.kept.map(({ iterations }) => iterations), [3, 4, 5, 6, 7]);
});

Deno.test("CheckpointWriter.fault says what went wrong the last time, and no longer", async () => {
  let broken: string | undefined = "the disk is full";
  const { store, writer } = writerOf();
  store.beforeAdd = () =>
    broken === undefined ? Promise.resolve() : Promise.reject(new Error(broken));
  await writer.write(state(1), 10);
  assert.equal(writer.fault, "Iteration 10 was not written: the disk is full");
  assert.deepEqual(writer.kept, []);
  broken = undefined;
  await writer.write(state(2), 20);
  assert.equal(writer.fault, undefined);
});

Deno.test("CheckpointWriter keeps a version that could not be served, and says so", async () => {
  const { writer } = writerOf(() => Promise.reject(new Error("no memory")));
  await writer.write(state(1), 10);
  assert.equal(writer.fault, "descent/2 was written, but is not served: no memory");
  assert.equal(writer.kept.length, 1);
});
