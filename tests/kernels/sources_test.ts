import assert from "node:assert/strict";
import { shippedSources, sourceHeader, suiteSources } from "./sources.ts";

Deno.test("shippedSources() belong to the PTX beside them", () => {
  for (const { source, ptx } of shippedSources()) assertMadeFrom(source, ptx);
});

Deno.test("suiteSources() belong to their PTX", () => {
  for (const { source, ptx } of suiteSources()) assertMadeFrom(source, ptx);
});

Deno.test("sourceHeader() has a line for the source and each file that it includes", () => {
  const { source } = shippedSources().find(({ source }) => source.endsWith("/softmax.cu"))!;
  assert.match(
    sourceHeader(source),
    /^\/\/ sha256 \w{64} softmax.cu\n\/\/ sha256 \w{64} rows.cuh\n$/,
  );
});

Deno.test("PTX that is committed names no folder of the machine that made it", () => {
  const folder = new URL("ptx/", import.meta.url);
  const suite = Array.from(Deno.readDirSync(folder), ({ name }) => new URL(name, folder));
  for (const ptx of [...shippedSources().map(({ ptx }) => ptx), ...suite]) {
    const text = Deno.readTextFileSync(ptx);
    assert.doesNotMatch(text, /(^|[\s"(])\/\w+\//m, String(ptx));
    // Debug sections spell their text out, a byte to a line.
    for (const [run] of text.matchAll(/(\.b8 \d+[^\n]*\n\s*)+/g)) {
      const bytes = Array.from(run.matchAll(/\.b8 (\d+)/g), ([, byte]) => Number(byte));
      assert.doesNotMatch(String.fromCharCode(...bytes), /\/\w+\//, String(ptx));
    }
  }
});

function assertMadeFrom(source: string, ptx: string): void {
  const header = sourceHeader(source);
  const found = Deno.readTextFileSync(ptx).slice(0, header.length);
  assert.equal(found, header, `${ptx} is older than its source; run deno task kernels`);
}
