/**
 * Cases of cub.cu and cub_device.cu.
 *
 * @module
 */
import { assertClose, assertSame } from "../compare.ts";
import { EMPTY, i32, input, output, struct } from "../gpu.ts";
import { integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";

/** Sorting, scanning, reducing and counting by CUB. */
export const cubCases: readonly KernelCase[] = [
  ...[512, 300, 1].flatMap((count): KernelCase[] => [{
    name: `block_sort of ${count}`,
    module: "cub",
    async run(gpu, ptx) {
      // Few values, so that many are equal: a radix sort keeps their order.
      const keys = integers(count, 1, 40).map((key) => (key - 20) * 1_000_003);
      const sorted = output(new Int32Array(count)), places = output(new Int32Array(count));
      await gpu.run(ptx, [{
        kernel: "block_sort",
        grid: [1],
        block: [128],
        arguments: [input(keys), sorted, places, i32(count)],
      }]);
      const order = Array.from(keys.keys()).sort((a, b) => keys[a] - keys[b] || a - b);
      assertSame(places.data, order, "places");
      assertSame(sorted.data, order.map((place) => keys[place]), "sorted");
    },
  }, {
    name: `block_scan of ${count}`,
    module: "cub",
    async run(gpu, ptx) {
      const x = integers(count, 2, 1000);
      const out = output(new Int32Array(count)), total = output(new Int32Array(1));
      await gpu.run(ptx, [{
        kernel: "block_scan",
        grid: [1],
        block: [128],
        arguments: [input(x), out, total, i32(count)],
      }]);
      let sum = 0;
      assertSame(out.data, x.map((value) => (sum += value) - value), "out");
      assertSame(total.data, [sum], "total");
    },
  }]),
  {
    name: "block_reduce of 300",
    module: "cub",
    async run(gpu, ptx) {
      const x = uniform(300, 1);
      const sum = output(new Float32Array(3)), highest = output(new Float32Array(3));
      await gpu.run(ptx, [{
        kernel: "block_reduce",
        grid: [3],
        block: [128],
        arguments: [input(x), sum, highest, i32(300)],
      }]);
      const blocks = [0, 1, 2].map((block) =>
        Array.from(x.subarray(block * 128, block * 128 + 128))
      );
      const sums = blocks.map((block) => block.reduce((sum, value) => sum + value, 0));
      assertClose(sum.data, sums, { ofLargest: 1e-5 }, "sum");
      assertSame(highest.data, blocks.map((block) => Math.max(...block)), "highest");
    },
  },
  {
    name: "block_histogram of 400",
    module: "cub",
    async run(gpu, ptx) {
      const x = Uint8Array.from(integers(400, 1, 32));
      const counts = output(new Int32Array(32));
      await gpu.run(ptx, [{
        kernel: "block_histogram",
        grid: [1],
        block: [128],
        arguments: [input(x), counts, i32(400)],
      }]);
      const expected = new Int32Array(32);
      x.forEach((value) => expected[value]++);
      assertSame(counts.data, expected, "counts");
    },
  },
  {
    name: "warp_merge_sort of 100",
    module: "cub",
    async run(gpu, ptx) {
      const x = uniform(100, 1);
      const out = output(new Float32Array(100));
      await gpu.run(ptx, [{
        kernel: "warp_merge_sort",
        grid: [1],
        block: [32],
        arguments: [input(x), out, i32(100)],
      }]);
      assertSame(out.data, x.toSorted().reverse(), "out");
    },
  },
];

/** Tile of the device-wide scan for sm_80, and the words of its state before those of the tiles. */
const SCAN = { threads: 320, tile: 3840, padding: 32 };

/** Kernels of the library itself. */
export const cubDeviceCases: readonly KernelCase[] = [1, 3840, 12_345].map((count) => ({
  name: `DeviceScan of ${count}`,
  module: "cub_device",
  async run(gpu, ptx) {
    const entry = (name: string) => ptx.match(new RegExp(`\\.entry (\\w+\\d${name}I\\w+)`))![1];
    const tiles = Math.ceil(count / SCAN.tile);
    const x = integers(count, 1, 1000);
    const out = output(new Int32Array(count));
    const state = struct([output(new Uint32Array(2 * (SCAN.padding + tiles))), 0, 0]);
    await gpu.run(ptx, [{
      kernel: entry("DeviceScanInitKernel"),
      grid: [Math.ceil(tiles / 128)],
      block: [128],
      arguments: [state, i32(tiles)],
    }, {
      kernel: entry("DeviceScanKernel"),
      grid: [tiles],
      block: [SCAN.threads],
      arguments: [input(x), out, state, i32(0), EMPTY, EMPTY, i32(count), i32(1)],
    }]);
    let sum = 0;
    assertSame(out.data, x.map((value) => sum += value), "out");
  },
}));
