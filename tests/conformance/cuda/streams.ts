/**
 * Cases of the conformance suite: streams and events.
 *
 * @module
 */
import assert from "node:assert/strict";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { type ConformanceCase, fails, pattern } from "./case.ts";
import { Gate } from "./gate.ts";

const INVALID_VALUE = 1;
const INVALID_HANDLE = 400;
const NOT_READY = 600;

/** Streams and events. */
export const STREAM_CASES: readonly ConformanceCase[] = [
  {
    name: "cuStreamGetPriority tells what the stream was created with, clamped to the range",
    run(context) {
      const { least, greatest } = context.streamPriorities();
      for (let priority = greatest; priority <= least; priority++) {
        using stream = new Stream(context, priority);
        assert.equal(stream.priority, priority);
      }
      const { symbols, out } = context.enter();
      assert.equal(symbols.cuStreamCreateWithPriority(out.bytes, 1, greatest - 100), 0);
      const handle = out.u64;
      assert.equal(symbols.cuStreamGetPriority(handle, out.bytes), 0);
      assert.equal(out.i32, greatest);
      assert.equal(symbols.cuStreamDestroy_v2(handle), 0);
    },
  },
  {
    name: "cuStreamQuery is not ready until the work is done",
    run(context) {
      using stream = new Stream(context);
      using gate = new Gate(context);
      assert.equal(stream.query(), true);
      gate.close(stream);
      assert.equal(stream.query(), false);
      gate.open();
      stream.synchronize();
      assert.equal(stream.query(), true);
    },
  },
  {
    name: "an event that was never recorded has fired",
    run(context) {
      using stream = new Stream(context);
      using event = new CudaEvent(context);
      assert.equal(event.query(), true);
      event.synchronize();
      stream.wait(event);
      stream.synchronize();
    },
  },
  {
    name: "an event fires once all that was enqueued before it is done",
    run(context) {
      using stream = new Stream(context);
      using before = new CudaEvent(context);
      using after = new CudaEvent(context);
      using gate = new Gate(context);
      before.record(stream);
      gate.close(stream);
      after.record(stream);
      before.synchronize();
      assert.equal(before.query(), true);
      assert.equal(after.query(), false);
      gate.open();
      after.synchronize();
      assert.equal(after.query(), true);
    },
  },
  {
    name: "an event that is recorded again forgets its first recording",
    run(context) {
      using stream = new Stream(context);
      using event = new CudaEvent(context);
      using gate = new Gate(context);
      event.record(stream);
      event.synchronize();
      gate.close(stream);
      event.record(stream);
      assert.equal(event.query(), false);
      gate.open();
      event.synchronize();
    },
  },
  {
    name: "cuStreamWaitEvent holds one stream up until the other's event fires",
    run(context) {
      using first = new Stream(context);
      using second = new Stream(context);
      using event = new CudaEvent(context, { timed: false });
      using memory = new DeviceMemory(context, 4096);
      using up = new PinnedMemory(context, 4096);
      using down = new PinnedMemory(context, 4096);
      using gate = new Gate(context);
      up.array.set(pattern(4096));
      gate.close(first);
      memory.write(up.array, 0, first);
      event.record(first);
      second.wait(event);
      memory.read(down.array, 0, second);
      assert.equal(second.query(), false);
      gate.open();
      second.synchronize();
      assert.deepEqual(down.array, up.array);
    },
  },
  {
    name: "cuCtxSynchronize waits for all streams",
    run(context) {
      using first = new Stream(context);
      using second = new Stream(context);
      using memory = new DeviceMemory(context, 1 << 20);
      memory.fill({ bits: 8, value: 1 }, 0, 1 << 19, first);
      memory.fill({ bits: 8, value: 2 }, 1 << 19, 1 << 19, second);
      context.synchronize();
      assert.equal(first.query(), true);
      assert.equal(second.query(), true);
    },
  },
  {
    name: "cuEventElapsedTime counts from the first event to the second",
    run(context) {
      using stream = new Stream(context);
      using start = new CudaEvent(context);
      using end = new CudaEvent(context);
      using gate = new Gate(context);
      start.record(stream);
      gate.close(stream);
      end.record(stream);
      fails(NOT_READY, "cuEventElapsedTime", () => end.elapsedMicros(start));
      gate.open();
      end.synchronize();
      assert.ok(end.elapsedMicros(start) > 0);
      assert.ok(start.elapsedMicros(end) < 0);
    },
  },
  {
    name: "cuEventElapsedTime refuses events that have no time",
    run(context) {
      using stream = new Stream(context);
      using recorded = new CudaEvent(context);
      using untimed = new CudaEvent(context, { timed: false });
      using never = new CudaEvent(context);
      recorded.record(stream);
      untimed.record(stream);
      stream.synchronize();
      fails(INVALID_HANDLE, "cuEventElapsedTime", () => untimed.elapsedMicros(recorded));
      fails(INVALID_HANDLE, "cuEventElapsedTime", () => never.elapsedMicros(recorded));
    },
  },
  {
    name: "done() settles once the device is, while the event loop goes on",
    async run(context) {
      await using stream = new Stream(context);
      using event = new CudaEvent(context);
      using gate = new Gate(context);
      gate.close(stream);
      event.record(stream);
      let settled = false;
      const done = event.done().then(() => settled = true);
      await new Promise((resolve) => setTimeout(resolve, 0));
      assert.equal(settled, false);
      gate.open();
      await done;
    },
  },
  {
    name: "an event is recorded in a graph only while one is captured",
    run(context) {
      using stream = new Stream(context);
      using event = new CudaEvent(context);
      fails(INVALID_VALUE, "cuEventRecordWithFlags", () => event.recordInGraph(stream));
      assert.equal(event.query(), true);
    },
  },
];
