import assert from "node:assert/strict";
import fc from "fast-check";
import { formatBytes, parseBytes } from "../../server/bytes.ts";

Deno.test("parseBytes() reads plain bytes, units of 1000 and units of 1024", () => {
  assert.equal(parseBytes("0"), 0);
  assert.equal(parseBytes("1048576"), 2 ** 20);
  assert.equal(parseBytes("2GB"), 2e9);
  assert.equal(parseBytes("512MiB"), 512 * 2 ** 20);
  assert.equal(parseBytes("1.5 kib"), 1536);
  assert.equal(parseBytes("3b"), 3);
});

Deno.test("parseBytes() gives undefined when the text is no size", () => {
  for (const text of ["", "MiB", "-1", "1e3", "12Q", "1..5", "1 0", "0x10", "9007199254740992"]) {
    assert.equal(parseBytes(text), undefined, text);
  }
});

Deno.test("formatBytes() shows three digits in the largest unit that fits", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1024), "1.00 KiB");
  assert.equal(formatBytes(10_239), "10.0 KiB");
  assert.equal(formatBytes(4_917_043), "4.69 MiB");
  assert.equal(formatBytes(1_048_064), "1.00 MiB");
  assert.equal(formatBytes(139 * 2 ** 30), "139 GiB");
});

Deno.test("parseBytes() reads back what formatBytes() shows, to three digits", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (bytes) => {
    const back = parseBytes(formatBytes(bytes));
    assert.ok(back !== undefined);
    assert.ok(Math.abs(back - bytes) <= bytes * 0.006, `${bytes} ${formatBytes(bytes)} ${back}`);
  }));
});
