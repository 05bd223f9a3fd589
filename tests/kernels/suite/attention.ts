/**
 * Cases of attention.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { f32, i32, input, output } from "../gpu.ts";
import { halves, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { attend } from "../references/attention.ts";

const WIDTH = 64;

/** Caches of several lengths, read in one piece and split; heads of their own and shared ones. */
export const attentionCases: readonly KernelCase[] = [
  { lengths: [1], heads: 1, sharedBy: 1, capacity: 4, splits: 1 },
  { lengths: [37, 3], heads: 4, sharedBy: 2, capacity: 40, splits: 4 },
  { lengths: [100], heads: 2, sharedBy: 1, capacity: 100, splits: 3 },
  { lengths: [5, 64, 2], heads: 2, sharedBy: 2, capacity: 64, splits: 8 },
].map(({ lengths, heads, sharedBy, capacity, splits }) => ({
  name: `decode_attention over ${lengths.join(", ")} positions, ${heads} heads in groups of ` +
    `${sharedBy}, ${splits} splits`,
  module: "attention",
  async run(gpu, ptx) {
    const sequences = lengths.length;
    const query = uniform(sequences * heads * WIDTH, 1, 4);
    const keys = halves(sequences * heads / sharedBy * capacity * WIDTH, 2);
    const values = halves(keys.length, 3);
    const partial = output(new Float32Array(sequences * heads * splits * (WIDTH + 2)));
    const out = output(new Float32Array(query.length));
    await gpu.run(ptx, [{
      kernel: "decode_attention",
      grid: [heads, splits, sequences],
      block: [128],
      arguments: [
        ...[query, keys, values, Int32Array.from(lengths)].map(input),
        partial,
        ...[heads, sharedBy, capacity].map(i32),
        f32(1 / Math.sqrt(WIDTH)),
      ],
    }, {
      kernel: "combine_splits",
      grid: [sequences * heads],
      block: [WIDTH],
      arguments: [partial, out, i32(splits)],
    }]);
    const shape = { sequences, heads, sharedBy, capacity, width: WIDTH };
    const expected = attend(query, keys, values, lengths, shape);
    assertClose(out.data, expected, { ofLargest: 2e-6 }, "out");
  },
}));
