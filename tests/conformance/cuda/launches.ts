/**
 * Cases of the conformance suite: kernels, what they need, how they are launched.
 *
 * @module
 */
import assert from "node:assert/strict";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import type { Context } from "../../../ffi/cuda/context.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { KernelLaunch, type LaunchShape } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { type ConformanceCase, fails } from "./case.ts";
import { KERNELS } from "./kernels.ts";

const INVALID_VALUE = 1;
const TOO_LARGE_TO_COOPERATE = 720;

/** Functions and launches. */
export const LAUNCH_CASES: readonly ConformanceCase[] = [
  {
    name: "attribute() tells what a kernel needs and may have",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("scale");
      const threads = kernel.attribute("maxThreadsPerBlock");
      assert.ok(threads >= 32 && threads <= context.device.attribute("maxThreadsPerBlock"));
      assert.ok(kernel.attribute("registers") >= 1);
      assert.equal(kernel.attribute("sharedBytes"), 0);
      assert.equal(kernel.attribute("localBytes"), 0);
      assert.equal(kernel.attribute("ptxVersion"), 70);
      const { major, minor } = context.device.computeCapability;
      assert.equal(kernel.attribute("binaryVersion"), major * 10 + minor);
      assert.ok(kernel.attribute("constBytes") >= 0);
    },
  },
  {
    name: "parameterSizes() tells what a kernel takes",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const known = context.driver.symbols.cuFuncGetParamInfo !== null;
      assert.deepEqual(module.function("scale").parameterSizes(), known ? [8, 4, 4] : undefined);
      assert.deepEqual(module.function("dot").parameterSizes(), known ? [8, 24] : undefined);
    },
  },
  {
    name: "occupancy: as many blocks as fit, and a block that fills a multiprocessor",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("scale");
      const most = context.device.attribute("maxThreadsPerMultiprocessor");
      const blocks = kernel.blocksPerMultiprocessor(128);
      assert.ok(blocks >= 1 && blocks * 128 <= most, `${blocks} blocks of 128, ${most} threads`);
      const shared = context.device.attribute("sharedMemoryPerBlock");
      assert.ok(kernel.blocksPerMultiprocessor(128, shared) <= blocks);
      const suggested = kernel.suggestedLaunch();
      assert.ok(suggested.threads <= kernel.attribute("maxThreadsPerBlock"));
      assert.equal(suggested.threads % 32, 0);
      assert.ok(suggested.blocks >= context.device.attribute("multiprocessors"));
    },
  },
  {
    name: "a launch runs every thread of every block",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const count = 1000;
      using x = new DeviceMemory(context, count * 4);
      const host = Float32Array.from({ length: count }, (_, index) => index);
      x.write(host);
      const args = new KernelArguments("pfi").setAll(x.address, 0.5, count);
      run(context, new KernelLaunch(module.function("scale"), { grid: [8], block: [128] }, args));
      x.read(host);
      assert.deepEqual(host, Float32Array.from({ length: count }, (_, index) => index / 2));
    },
  },
  {
    name: "a launch takes its arguments when it is enqueued",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      using x = new DeviceMemory(context, 4);
      x.write(new Float32Array([1]));
      using stream = new Stream(context);
      const args = new KernelArguments("pfi").setAll(x.address, 3, 1);
      const launch = new KernelLaunch(module.function("scale"), { grid: [1], block: [32] }, args);
      for (const factor of [2, 5, 7]) {
        args.set(1, factor);
        launch.enqueue(stream);
      }
      args.set(1, 0);
      stream.synchronize();
      const host = new Float32Array(1);
      x.read(host);
      assert.equal(host[0], 70);
    },
  },
  {
    name: "a struct is passed by value",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      using out = new DeviceMemory(context, 4);
      const args = new KernelArguments([
        "pointer",
        ["i8", ["i32", "i32", "i32"], ["i16", "i16", "i16"]],
      ]).setAll(out.address, [-1, 100_000, 20, -3, 2, 30, 400]);
      run(context, new KernelLaunch(module.function("dot"), { grid: [1], block: [1] }, args));
      const host = new Int32Array(1);
      out.read(host);
      assert.equal(host[0], -(200_000 + 600 - 1200));
    },
  },
  {
    name: "a block has as much dynamic shared memory as the launch asks for, and may be allowed",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("reverse");
      const threads = 256;
      using data = new DeviceMemory(context, threads * 4);
      const args = new KernelArguments("p").setAll(data.address);
      const shape = { grid: [1], block: [threads] };
      const mostAtFirst = kernel.attribute("maxDynamicSharedBytes");
      const most = context.device.attribute("sharedMemoryPerBlockOptIn");
      assert.ok(mostAtFirst >= 48 * 1024 && most >= mostAtFirst);
      if (most > mostAtFirst) {
        fails(INVALID_VALUE, "cuLaunchKernel", () => {
          new KernelLaunch(kernel, { ...shape, sharedBytes: most }, args);
        });
        kernel.setMaxDynamicSharedBytes(most);
        assert.equal(kernel.attribute("maxDynamicSharedBytes"), most);
      }
      for (const sharedBytes of [threads * 4, most]) {
        data.write(Int32Array.from({ length: threads }, (_, index) => index));
        run(context, new KernelLaunch(kernel, { ...shape, sharedBytes }, args));
        const host = new Int32Array(threads);
        data.read(host);
        assert.deepEqual(host, Int32Array.from({ length: threads }, (_, i) => threads - 1 - i));
      }
      fails(INVALID_VALUE, "cuFuncSetAttribute", () => kernel.setMaxDynamicSharedBytes(most + 1));
    },
  },
  {
    name: "a shape beyond the limits is refused before it is launched",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("scale");
      const limit = (name: Parameters<typeof context.device.attribute>[0]) =>
        context.device.attribute(name);
      const shapes: readonly [LaunchShape, RegExp][] = [
        [{ grid: [0], block: [1] }, /kernel scale: the grid is 0 along x/],
        [{ grid: [1, limit("maxGridY") + 1], block: [1] }, /the grid is \d+ along y, 1 to \d+/],
        [{ grid: [1], block: [1, 1, limit("maxBlockZ") + 1] }, /the block is \d+ along z/],
        [{ grid: [1], block: [limit("maxThreadsPerBlock"), 2] }, /a block of \d+ threads/],
        [{ grid: [1.5], block: [1] }, /the grid is 1.5 along x/],
        [{ grid: [1], block: [] }, /the block has 0 dimensions/],
        [{ grid: [1, 1, 1, 1], block: [1] }, /the grid has 4 dimensions/],
        [{ grid: [1], block: [1], sharedBytes: -1 }, /-1 bytes of dynamic shared memory/],
        [{ grid: [1], block: [1], sharedBytes: 2 ** 30 }, /setMaxDynamicSharedBytes/],
      ];
      for (const [shape, message] of shapes) {
        const make = () => new KernelLaunch(kernel, shape, new KernelArguments("pfi"));
        fails(INVALID_VALUE, "cuLaunchKernel", make);
        assert.throws(make, message);
      }
    },
  },
  {
    name: "arguments of another number or size than the kernel takes are refused",
    run(context) {
      if (context.driver.symbols.cuFuncGetParamInfo === null) return;
      using module = loadModule(context, KERNELS, "kernels");
      const shape = { grid: [1], block: [1] };
      for (const signature of ["", "pf", "pfii", "pfl", "ifp"]) {
        const make = () =>
          new KernelLaunch(module.function("scale"), shape, new KernelArguments(signature));
        fails(INVALID_VALUE, "cuLaunchKernel", make);
        assert.throws(make, /kernel scale: arguments of .* bytes, the kernel takes 8, 4, 4 bytes/);
      }
    },
  },
  {
    name: "a cooperative launch has all its blocks on the device, or is refused",
    run(context) {
      if (context.device.attribute("cooperativeLaunch") === 0) return;
      using module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("scale");
      const resident = kernel.blocksPerMultiprocessor(128) *
        context.device.attribute("multiprocessors");
      using x = new DeviceMemory(context, 4);
      x.write(new Float32Array([4]));
      const args = new KernelArguments("pfi").setAll(x.address, 2, 1);
      const shape = { block: [128], cooperative: true };
      run(context, new KernelLaunch(kernel, { ...shape, grid: [resident] }, args));
      const host = new Float32Array(1);
      x.read(host);
      assert.equal(host[0], 8);
      using stream = new Stream(context);
      const tooLarge = new KernelLaunch(kernel, { ...shape, grid: [resident + 1] }, args);
      fails(TOO_LARGE_TO_COOPERATE, "cuLaunchCooperativeKernel", () => tooLarge.enqueue(stream));
    },
  },
  {
    name: "a stream that has been disposed is refused",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const args = new KernelArguments("pfi");
      const launch = new KernelLaunch(module.function("scale"), { grid: [1], block: [1] }, args);
      const stream = new Stream(context);
      stream[Symbol.dispose]();
      assert.throws(() => launch.enqueue(stream), (error) => {
        assert.ok(error instanceof CudaError);
        assert.match(error.text, /the stream .* has been disposed/);
        return true;
      });
    },
  },
];

function run(context: Context, launch: KernelLaunch): void {
  using stream = new Stream(context);
  launch.enqueue(stream);
  stream.synchronize();
}
