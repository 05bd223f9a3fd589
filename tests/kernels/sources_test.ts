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
  for (const { ptx } of [...shippedSources(), ...suiteSources()]) {
    assert.doesNotMatch(Deno.readTextFileSync(ptx), /(^|[\s"(])\/\w+\//m, ptx);
  }
});

function assertMadeFrom(source: string, ptx: string): void {
  const header = sourceHeader(source);
  const found = Deno.readTextFileSync(ptx).slice(0, header.length);
  assert.equal(found, header, `${ptx} is older than its source; run deno task kernels`);
}
