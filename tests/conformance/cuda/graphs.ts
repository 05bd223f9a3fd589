/**
 * Cases of the conformance suite: capture of streams, graphs, their launches and updates.
 *
 * @module
 */
import assert from "node:assert/strict";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import type { Context } from "../../../ffi/cuda/context.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { captureGraph } from "../../../ffi/cuda/graph.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { type CudaModule, loadModule } from "../../../ffi/cuda/module.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { type ConformanceCase, fails } from "./case.ts";
import { Gate } from "./gate.ts";
import { KERNELS } from "./kernels.ts";

const INVALID_HANDLE = 400;
const ILLEGAL_STATE = 401;
const CAPTURE_UNSUPPORTED = 900;
const CAPTURE_INVALIDATED = 901;
const UPDATE_FAILURE = 910;

/** A stream, one number on the device, and kernels that multiply it. */
class Bench implements Disposable {
  readonly module: CudaModule;
  readonly stream: Stream;
  readonly number: DeviceMemory;

  constructor(readonly context: Context) {
    this.module = loadModule(context, KERNELS, "kernels");
    this.stream = new Stream(context);
    this.number = new DeviceMemory(context, 4);
    this.write(1);
  }

  /** Multiplies the number. */
  scale(by: number, threads = 1): KernelLaunch {
    const args = new KernelArguments("pfi").setAll(this.number.address, by, 1);
    return new KernelLaunch(this.module.function("scale"), { grid: [1], block: [threads] }, args);
  }

  write(value: number): void {
    this.number.write(new Float32Array([value]));
  }

  /** The number, once the stream is done. */
  read(): number {
    this.stream.synchronize();
    const host = new Float32Array(1);
    this.number.read(host);
    return host[0];
  }

  [Symbol.dispose](): void {
    this.stream[Symbol.dispose]();
    this.number[Symbol.dispose]();
    this.module[Symbol.dispose]();
  }
}

/** As the driver sees it. */
function isCapturing(stream: Stream): boolean {
  const { driver } = stream.context;
  const handle = stream.live("cuStreamIsCapturing");
  driver.check(
    "cuStreamIsCapturing",
    driver.symbols.cuStreamIsCapturing(handle, driver.out.bytes),
  );
  return driver.out.i32 !== 0;
}

/** Capture and graphs. */
export const GRAPH_CASES: readonly ConformanceCase[] = [
  {
    name: "what is captured does not run; every launch of the graph runs it",
    run(context) {
      using bench = new Bench(context);
      assert.equal(isCapturing(bench.stream), false);
      using graph = captureGraph(bench.stream, () => {
        assert.equal(isCapturing(bench.stream), true);
        bench.scale(3).enqueue(bench.stream);
      });
      assert.equal(isCapturing(bench.stream), false);
      assert.equal(bench.read(), 1);
      using exec = graph.instantiate();
      assert.equal(bench.read(), 1);
      for (const expected of [3, 9, 27]) {
        exec.launch(bench.stream);
        assert.equal(bench.read(), expected);
      }
    },
  },
  {
    name: "the nodes of a graph run in the order in which they were captured",
    run(context) {
      using bench = new Bench(context);
      const { stream, number } = bench;
      using input = new PinnedMemory(context, 4);
      using output = new PinnedMemory(context, 4);
      new Float32Array(input.buffer)[0] = 5;
      using graph = captureGraph(stream, () => {
        number.write(input.array, 0, stream);
        for (let i = 0; i < 6; i++) bench.scale(2).enqueue(stream);
        number.read(output.array, 0, stream);
        number.fill({ bits: 32, value: 0 }, 0, 1, stream);
      });
      assert.equal(graph.kernelNodes().length, 6);
      const { grid, block, sharedBytes } = graph.kernelNodes()[0];
      assert.deepEqual({ grid, block, sharedBytes }, {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        sharedBytes: 0,
      });
      using exec = graph.instantiate();
      exec.upload(stream);
      exec.launch(stream);
      assert.equal(bench.read(), 0);
      assert.equal(new Float32Array(output.buffer)[0], 5 * 64);
    },
  },
  {
    name: "a graph takes the arguments as they were when it was captured",
    run(context) {
      using bench = new Bench(context);
      const launch = bench.scale(3);
      using graph = captureGraph(bench.stream, () => launch.enqueue(bench.stream));
      launch.arguments.set(1, 100);
      using exec = graph.instantiate();
      launch.arguments.set(1, 1000);
      exec.launch(bench.stream);
      assert.equal(bench.read(), 3);
    },
  },
  {
    name: "events inside a graph fire in every launch and tell the time in between",
    run(context) {
      using bench = new Bench(context);
      const { stream } = bench;
      using start = new CudaEvent(context);
      using end = new CudaEvent(context);
      using graph = captureGraph(stream, () => {
        start.recordInGraph(stream);
        for (let i = 0; i < 8; i++) bench.scale(2).enqueue(stream);
        end.recordInGraph(stream);
      });
      using exec = graph.instantiate();
      for (const expected of [2 ** 8, 2 ** 16]) {
        exec.launch(stream);
        assert.equal(bench.read(), expected);
        assert.equal(end.query(), true);
        assert.ok(end.elapsedMicros(start) >= 0);
      }
    },
  },
  {
    name: "a second stream takes part in a capture by waiting for an event of the first",
    run(context) {
      using bench = new Bench(context);
      const { stream } = bench;
      using side = new Stream(context);
      using fork = new CudaEvent(context, { timed: false });
      using join = new CudaEvent(context, { timed: false });
      using graph = captureGraph(stream, () => {
        bench.scale(2).enqueue(stream);
        fork.record(stream);
        side.wait(fork);
        bench.scale(5).enqueue(side);
        join.record(side);
        stream.wait(join);
        bench.scale(7).enqueue(stream);
      });
      assert.equal(graph.kernelNodes().length, 3);
      using exec = graph.instantiate();
      exec.launch(stream);
      assert.equal(bench.read(), 70);
    },
  },
  {
    name: "an update makes an instantiated graph do what another one does",
    run(context) {
      using bench = new Bench(context);
      const capture = (by: number) =>
        captureGraph(bench.stream, () => bench.scale(by, 32).enqueue(bench.stream));
      using first = capture(2);
      using exec = first.instantiate();
      exec.launch(bench.stream);
      {
        using second = capture(10);
        exec.update(second);
      }
      exec.launch(bench.stream);
      assert.equal(bench.read(), 20);
    },
  },
  {
    name: "an update to a graph of another shape is refused and changes nothing",
    run(context) {
      using bench = new Bench(context);
      const capture = (factors: readonly number[]) =>
        captureGraph(bench.stream, () => {
          for (const by of factors) bench.scale(by).enqueue(bench.stream);
        });
      using first = capture([2]);
      using longer = capture([3, 4]);
      using exec = first.instantiate();
      fails(UPDATE_FAILURE, "cuGraphExecUpdate_v2", () => exec.update(longer));
      assert.throws(() => exec.update(longer), /changes its nodes or their order/);
      exec.launch(bench.stream);
      assert.equal(bench.read(), 2);
    },
  },
  {
    name: "one node can be given other arguments and another shape",
    run(context) {
      using bench = new Bench(context);
      using graph = captureGraph(bench.stream, () => {
        for (const by of [2, 3]) bench.scale(by).enqueue(bench.stream);
      });
      using exec = graph.instantiate();
      exec.setKernel(graph.kernelNodes()[1], bench.scale(50, 64));
      exec.launch(bench.stream);
      assert.equal(bench.read(), 100);
    },
  },
  {
    name: "an error while capturing ends the capture; the stream works on",
    run(context) {
      using bench = new Bench(context);
      const wrong = new Error("not this time");
      assert.throws(() =>
        captureGraph(bench.stream, () => {
          bench.scale(2).enqueue(bench.stream);
          throw wrong;
        }), wrong);
      bench.scale(3).enqueue(bench.stream);
      assert.equal(bench.read(), 3);
    },
  },
  {
    name: "to wait for a stream while it is captured is refused, and spoils the capture",
    run(context) {
      using bench = new Bench(context);
      const { stream } = bench;
      fails(CAPTURE_UNSUPPORTED, "cuStreamSynchronize", () =>
        captureGraph(stream, () => {
          bench.scale(2).enqueue(stream);
          stream.synchronize();
        }));
      fails(CAPTURE_INVALIDATED, "cuStreamEndCapture", () =>
        captureGraph(stream, () => {
          bench.scale(2).enqueue(stream);
          assert.throws(() => stream.synchronize());
        }));
      bench.scale(3).enqueue(stream);
      assert.equal(bench.read(), 3);
    },
  },
  {
    name: "a graph keeps what its nodes use, until nothing made of it is left",
    run(context) {
      using bench = new Bench(context);
      const { stream, number } = bench;
      const pinned = new PinnedMemory(context, 4);
      const graph = captureGraph(stream, () => {
        number.write(pinned.array, 0, stream);
        bench.scale(2).enqueue(stream);
      });
      const exec = graph.instantiate();
      for (const used of [pinned, number, bench.module]) {
        fails(ILLEGAL_STATE, "dispose", () => used[Symbol.dispose]());
      }
      graph[Symbol.dispose]();
      graph[Symbol.dispose]();
      fails(ILLEGAL_STATE, "dispose", () => pinned[Symbol.dispose]());
      fails(INVALID_HANDLE, "cuGraphInstantiateWithFlags", () => graph.instantiate());
      exec[Symbol.dispose]();
      pinned[Symbol.dispose]();
      fails(INVALID_HANDLE, "cuGraphLaunch", () => exec.launch(stream));
    },
  },
  {
    name: "a graph cannot be disposed while a launch of it is in flight",
    run(context) {
      using bench = new Bench(context);
      using gate = new Gate(context);
      using graph = captureGraph(bench.stream, () => bench.scale(2).enqueue(bench.stream));
      const exec = graph.instantiate();
      gate.close(bench.stream);
      exec.launch(bench.stream);
      fails(ILLEGAL_STATE, "dispose", () => exec[Symbol.dispose]());
      gate.open();
      assert.equal(bench.read(), 2);
      exec[Symbol.dispose]();
    },
  },
  {
    name: "an empty capture is a graph without nodes",
    run(context) {
      using bench = new Bench(context);
      using graph = captureGraph(bench.stream, () => {});
      assert.deepEqual(graph.kernelNodes(), []);
      using exec = graph.instantiate();
      exec.launch(bench.stream);
      assert.equal(bench.read(), 1);
    },
  },
];
