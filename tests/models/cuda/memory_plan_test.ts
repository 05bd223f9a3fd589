import assert from "node:assert/strict";
import fc from "fast-check";
import { ALIGNMENT, type Lifetime, planMemory } from "../../../models/cuda/memory_plan.ts";

const lifetimes: fc.Arbitrary<Lifetime[]> = fc.array(
  fc.record({ bytes: fc.nat(5000), first: fc.nat(20), length: fc.nat(10) }),
  { maxLength: 40 },
).map((uses) =>
  uses.map(({ bytes, first, length }) => ({ bytes, first, last: first + length }))
    .sort((a, b) => a.first - b.first)
);

Deno.test("planMemory() never gives one place to two who need it at the same time", () => {
  fc.assert(fc.property(lifetimes, (uses) => {
    const { offsets, bytes } = planMemory(uses);
    for (const [i, use] of uses.entries()) {
      assert.equal(offsets[i] % ALIGNMENT, 0);
      assert.ok(offsets[i] + use.bytes <= bytes);
      for (const [j, other] of uses.entries()) {
        if (j >= i || other.last < use.first || use.bytes === 0 || other.bytes === 0) continue;
        const isApart = offsets[i] >= offsets[j] + other.bytes ||
          offsets[j] >= offsets[i] + use.bytes;
        assert.ok(isApart, `${i} and ${j} overlap`);
      }
    }
  }));
});

Deno.test("planMemory() takes a chain's memory by turns", () => {
  const chain = Array.from({ length: 50 }, (_, i) => ({ bytes: 1000, first: i, last: i + 1 }));
  assert.equal(planMemory(chain).bytes, 2 * 1024);
});

Deno.test("planMemory() prefers the smallest gap that fits", () => {
  const { offsets, bytes } = planMemory([
    { bytes: 1024, first: 0, last: 0 },
    { bytes: 256, first: 0, last: 9 },
    { bytes: 512, first: 0, last: 0 },
    { bytes: 256, first: 0, last: 9 },
    { bytes: 512, first: 1, last: 9 },
    { bytes: 1024, first: 1, last: 9 },
  ]);
  assert.deepEqual(offsets, [0, 1024, 1280, 1792, 1280, 0]);
  assert.equal(bytes, 2048);
});

Deno.test("planMemory() needs nothing for nothing", () => {
  assert.deepEqual(planMemory([]), { offsets: [], bytes: 0 });
  assert.equal(planMemory([{ bytes: 0, first: 0, last: 3 }]).bytes, 0);
});
