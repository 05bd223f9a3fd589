import assert from "node:assert/strict";
import type { Model, SequenceRule } from "../../../models/model.ts";
import { openVirtualEngine, sequenceModel, type VirtualEngine } from "./fixture.ts";

/** A model of which nobody has said whether its sequences may be joined. */
function undeclared(fingerprint = "s-1", changes: Partial<SequenceRule> = {}): Model {
  const { batching } = sequenceModel("s").sequence!;
  return {
    ...sequenceModel("s", { batching: { ...batching, join: false, probe: true }, ...changes }),
    fingerprint,
  };
}

/** Loads it, letting virtual time pass, and gives the rule that its sequences have then. */
async function loadedRule({ engine, clock }: VirtualEngine) {
  let loading = true;
  const loaded = engine.load("s").finally(() => loading = false);
  while (loading) {
    await new Promise((resolve) => setTimeout(resolve));
    clock.advanceTo(clock.nowMicros() + 1e6);
  }
  await loaded;
  return engine.find("s").model.sequence!.batching;
}

Deno.test("load() finds out whether sequences may be joined, and gives the memory back", async () => {
  // Weights take 1000 bytes, a state 8: what the probe held is what two sequences need.
  const device = { memoryBytes: 1016, ephemeralBytes: () => 0 };
  await using sluice = await openVirtualEngine([undeclared()], device, { loadAll: false });
  const { join, probe, reason, maxRows, batchedInputs } = await loadedRule(sluice);
  assert.deepEqual([join, probe, maxRows, batchedInputs], [true, false, 8, [true, false]]);
  assert.match(reason, /^Trial sequences gave the same answers alone and together/);
  assert.ok(sluice.engine.find("s").model.batching.join, "plain requests keep their own rule");
  const state = sluice.device.memory().filter((use) => use.class === "state");
  assert.equal(state.reduce((sum, { bytes }) => sum + bytes, 0), 0);
  const served = sluice.engine.find("s");
  const waiting = { id: "", inputs: undefined, priority: 0, timeoutMicros: 0, endless: true };
  const open = () =>
    sluice.engine.openSequence({ served, ...waiting, advance: () => "wait", fail() {} });
  assert.ok(open() && open(), "there is memory for two again");
});

Deno.test("load() takes what it knows of sequences for nothing that it knows of plain requests", async () => {
  const { batching, ...model } = undeclared();
  const open = { ...model, batching: { ...batching, join: false, probe: true } };
  await using sluice = await openVirtualEngine([open], {}, { loadAll: false });
  for (const _load of ["first", "again"]) {
    assert.ok((await loadedRule(sluice)).join);
    // A simulated model with a state answers a joined request otherwise than a separate one.
    assert.ok(!sluice.engine.find("s").model.batching.join);
    await sluice.engine.unload("s");
  }
});

Deno.test("load() probes the sequences of a content once", async () => {
  let iterations = 0;
  const iteration = () => {
    iterations++;
    return undefined;
  };
  const faults = { iteration };
  await using sluice = await openVirtualEngine([undeclared()], { faults }, { loadAll: false });
  assert.ok((await loadedRule(sluice)).join);
  const probe = iterations;
  await sluice.engine.unload("s");
  assert.ok((await loadedRule(sluice)).join);
  assert.equal(iterations, probe);
  sluice.repository.models.set("s", [undeclared("s-2")]);
  assert.ok((await loadedRule(sluice)).join);
  assert.equal(iterations, 2 * probe);
});

Deno.test("load() joins no sequences where there is no memory to probe them, and says so", async () => {
  // Weights take 1000 bytes, a state 8: one fits beside them, two do not.
  const device = { memoryBytes: 1010, ephemeralBytes: () => 0 };
  await using sluice = await openVirtualEngine([undeclared()], device, { loadAll: false });
  const { join, maxRows, batchedInputs, reason } = await loadedRule(sluice);
  assert.deepEqual([join, maxRows, batchedInputs], [false, 1, [false, false]]);
  assert.equal(reason, "There was no memory for the states of a probe: 16 bytes");
});
