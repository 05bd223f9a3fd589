import assert from "node:assert/strict";
import { moduleImage } from "../../../ffi/cuda/module_image.ts";

const PTX = ".version 8.0\n.target sm_80\n";

function fatbin(contentBytes: number, given = 16 + contentBytes): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(Math.max(given, 16)));
  view.setUint32(0, 0xba55ed50, true);
  view.setUint16(6, 16, true);
  view.setBigUint64(8, BigInt(contentBytes), true);
  return new Uint8Array(view.buffer, 0, given);
}

/** An ELF file with its table of sections at 64 and its table of segments behind it. */
function cubin(given = 64 + 3 * 64 + 2 * 56): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(Math.max(given, 64)));
  view.setUint32(0, 0x464c457f, true);
  view.setBigUint64(0x20, 64n + 3n * 64n, true);
  view.setBigUint64(0x28, 64n, true);
  view.setUint16(0x36, 56, true);
  view.setUint16(0x38, 2, true);
  view.setUint16(0x3a, 64, true);
  view.setUint16(0x3c, 3, true);
  return new Uint8Array(view.buffer, 0, given);
}

Deno.test("moduleImage() ends PTX in a NUL, whether text or bytes", () => {
  const expected = new TextEncoder().encode(`${PTX}\0`);
  for (const source of [PTX, new TextEncoder().encode(PTX), new TextEncoder().encode(`${PTX}\0`)]) {
    assert.deepEqual(moduleImage(source), { kind: "ptx", bytes: expected });
  }
  assert.deepEqual(moduleImage("").bytes, new Uint8Array(1));
});

Deno.test("moduleImage() leaves out what follows the first NUL of a text", () => {
  assert.deepEqual(moduleImage(new TextEncoder().encode("ab\0cd")).bytes.length, 3);
});

Deno.test("moduleImage() knows binaries by their first bytes, and passes them on as they are", () => {
  for (const [kind, bytes] of [["fatbin", fatbin(100)], ["cubin", cubin()]] as const) {
    const image = moduleImage(bytes);
    assert.equal(image.kind, kind);
    assert.equal(image.bytes, bytes);
  }
});

Deno.test("moduleImage() refuses a binary that is shorter than it says", () => {
  const cases: readonly [Uint8Array<ArrayBuffer>, RegExp][] = [
    [fatbin(100, 115), /the fatbin is cut off: its header speaks of 116 bytes, there are 115/],
    [fatbin(0, 12), /the fatbin is cut off: its header speaks of 16 bytes, there are 12/],
    [cubin(367), /the cubin is cut off: its header speaks of 368 bytes, there are 367/],
    [cubin(63), /the cubin is cut off: its header speaks of 64 bytes, there are 63/],
  ];
  for (const [bytes, message] of cases) {
    assert.throws(() => moduleImage(bytes), {
      code: 200,
      name: "CUDA_ERROR_INVALID_IMAGE",
      call: "cuModuleLoadDataEx",
      message,
    });
  }
});
