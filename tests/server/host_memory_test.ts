import assert from "node:assert/strict";
import { checkMemory, hostMemory, memoryWarning } from "../../server/host_memory.ts";
import { refusal } from "../models/refusal.ts";

const GIB = 2 ** 30;
const CONTAINER = { machineBytes: 64 * GIB, limitBytes: 8 * GIB };

Deno.test("checkMemory() refuses more than the machine has", () => {
  checkMemory(64 * GIB, CONTAINER);
  assert.throws(
    () => checkMemory(65 * GIB, CONTAINER),
    refusal(
      "invalid_argument",
      /^Setting "memory" \(--memory\) is 65\.\d GiB; expected at most .* 64\.\d GiB$/,
    ),
  );
});

Deno.test("memoryWarning() speaks of what a container does not allow", () => {
  assert.equal(memoryWarning(8 * GIB, CONTAINER), undefined);
  assert.match(
    memoryWarning(48 * GIB, CONTAINER)!,
    /^Models may take 48\.\d GiB, but this process may have 8\.\d+ GiB: set --memory below that/,
  );
});

Deno.test("hostMemory() never gives the process more than the machine has", () => {
  const { machineBytes, limitBytes } = hostMemory();
  assert.ok(limitBytes > 0 && limitBytes <= machineBytes);
});
