import assert from "node:assert/strict";

Deno.test("openCpuDevice() works beside an earlier user of ONNX Runtime, and reports it", async () => {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", new URL("beside_node_api_process.ts", import.meta.url).pathname],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  assert.ok(success);
  const { faults, y } = JSON.parse(new TextDecoder().decode(stdout));
  assert.deepEqual(y, [3, 6, 9, 12]);
  assert.equal(faults.length, 1);
  assert.equal(faults[0].fatal, false);
  assert.match(faults[0].message, /each model gets threads of its own/);
});
