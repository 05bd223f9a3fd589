import assert from "node:assert/strict";
import { CudaError, CudaUnavailableError } from "../../../ffi/cuda/errors.ts";

Deno.test("CudaError names the call, the code and what to do", () => {
  const error = new CudaError("cuMemAlloc_v2", 2, "no room for 8 bytes");
  assert.equal(error.call, "cuMemAlloc_v2");
  assert.equal(error.code, 2);
  assert.equal(error.name, "CUDA_ERROR_OUT_OF_MEMORY");
  assert.equal(error.text, "no room for 8 bytes");
  assert.match(error.hint, /^Free memory/);
  assert.equal(
    error.message,
    "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2): no room for 8 bytes. " + error.hint,
  );
});

Deno.test("CudaError takes the driver's name and a caller's hint", () => {
  const error = new CudaError("cuInit", 4711, "no idea", { name: "CUDA_ERROR_NEW", hint: "Ask." });
  assert.equal(error.message, "cuInit failed with CUDA_ERROR_NEW (4711): no idea. Ask.");
  assert.equal(new CudaError("cuInit", 4711, "no idea").name, "CUDA_ERROR_4711");
});

Deno.test("CudaError tells faults that end the process from failures of one call", () => {
  for (const code of [214, 700, 702, 710, 714, 715, 716, 717, 718, 719]) {
    const error = new CudaError("cuStreamQuery", code, "a fault");
    assert.ok(error.sticky, `${code}`);
    assert.match(error.hint, /end the process/);
  }
  for (const code of [46, 999]) {
    assert.ok(new CudaError("cuStreamQuery", code, "a lost device").sticky, `${code}`);
  }
  for (const code of [1, 2, 201, 400, 500, 600, 701, 720, 900]) {
    assert.ok(!new CudaError("cuStreamQuery", code, "a failure").sticky, `${code}`);
  }
});

Deno.test("CudaError has a hint for every state in which a call may be out of place", () => {
  for (const code of [401, 900, 901, 902, 904, 905, 906, 907, 908, 910]) {
    assert.notEqual(new CudaError("cuTest", code, "not now").hint, "", `${code}`);
  }
});

Deno.test("CudaUnavailableError carries its reason", () => {
  const error = new CudaUnavailableError("no device", "There is none.");
  assert.equal(error.reason, "no device");
  assert.equal(error.message, "There is none.");
});
