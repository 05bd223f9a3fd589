import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { captureGraph } from "../../../ffi/cuda/graph.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { fails, pattern } from "../../conformance/cuda/case.ts";
import { Gate } from "../../conformance/cuda/gate.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";

const INVALID_VALUE = 1;
const INVALID_HANDLE = 400;
const ILLEGAL_STATE = 401;

cudaTest("Stream refuses a priority that the device does not have", (context) => {
  const { least, greatest } = context.streamPriorities();
  for (const priority of [least + 1, greatest - 1, 0.5, NaN]) {
    fails(INVALID_VALUE, "cuStreamCreateWithPriority", () => new Stream(context, priority));
  }
});

cudaTest("Stream and CudaEvent refuse to be used once they have been disposed", (context) => {
  const stream = new Stream(context);
  const event = new CudaEvent(context);
  using alive = new CudaEvent(context);
  stream[Symbol.dispose]();
  event[Symbol.dispose]();
  const calls: readonly [call: string, run: () => unknown][] = [
    ["cuStreamQuery", () => stream.query()],
    ["cuStreamSynchronize", () => stream.synchronize()],
    ["cuStreamGetPriority", () => stream.priority],
    ["cuStreamWaitEvent", () => stream.wait(alive)],
    ["cuEventQuery", () => event.query()],
    ["cuEventSynchronize", () => event.synchronize()],
    ["cuEventRecord", () => alive.record(stream)],
    ["cuEventElapsedTime", () => alive.elapsedMicros(event)],
  ];
  for (const [call, run] of calls) fails(INVALID_HANDLE, call, run);
});

cudaTest("Stream waits for its work when it is disposed", (context, { control }) => {
  const down = new PinnedMemory(context, 1 << 20);
  using memory = new DeviceMemory(context, 1 << 20);
  memory.write(pattern(1 << 20));
  const waits = control.counter("calls:cuStreamSynchronize");
  {
    using stream = new Stream(context);
    memory.read(down.array, 0, stream);
  }
  assert.deepEqual(down.array, pattern(1 << 20));
  assert.equal(control.counter("calls:cuStreamSynchronize"), waits + 1);
  down[Symbol.dispose]();
});

cudaTest("await using waits for a stream's work while the event loop goes on", async (context) => {
  const stream = new Stream(context);
  using gate = new Gate(context);
  gate.close(stream);
  const disposed = stream[Symbol.asyncDispose]();
  setTimeout(() => gate.open(), 0);
  await disposed;
  assert.ok(stream.disposed);
  await stream[Symbol.asyncDispose]();
});

cudaTest("an event lets go of the copies before it, and not of those behind it", (context) => {
  using stream = new Stream(context);
  using event = new CudaEvent(context);
  using first = new DeviceMemory(context, 64);
  using second = new DeviceMemory(context, 64);
  using gate = new Gate(context);
  first.fill({ bits: 8, value: 0 }, 0, 64, stream);
  event.record(stream);
  gate.close(stream);
  second.fill({ bits: 8, value: 0 }, 0, 64, stream);
  event.synchronize();
  first.idle("test");
  fails(ILLEGAL_STATE, "test", () => second.idle("test"));
  gate.open();
  stream.synchronize();
});

cudaTest("a stream that is done lets go of all its copies", async (context) => {
  await using stream = new Stream(context);
  const memory = new DeviceMemory(context, 64);
  memory.fill({ bits: 8, value: 0 }, 0, 64, stream);
  await stream.done();
  memory[Symbol.dispose]();
});

cudaTest("done() tells each of many events", async (context) => {
  await using stream = new Stream(context);
  using memory = new DeviceMemory(context, 64);
  const order: number[] = [];
  const events = Array.from({ length: 20 }, () => new CudaEvent(context, { timed: false }));
  await Promise.all(events.map((event, index) => {
    memory.fill({ bits: 8, value: index }, 0, 64, stream);
    event.record(stream);
    return event.done().then(() => order.push(index));
  }));
  assert.deepEqual(order, events.map((_, index) => index));
  assert.equal(context.poller.size, 0);
  for (const event of events) event[Symbol.dispose]();
});

softwareGpuTest("done() rejects when the device is lost", async (gpu) => {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  using stream = new Stream(context);
  using event = new CudaEvent(context);
  event.record(stream);
  gpu.control.loseDevice();
  await assert.rejects(event.done(), { call: "cuEventQuery" });
  gpu.control.reset();
});

cudaTest("every failure of a stream's or an event's call is an error", (context, gpu) => {
  using stream = new Stream(context);
  using event = new CudaEvent(context);
  using start = new CudaEvent(context);
  start.record(stream);
  event.record(stream);
  stream.synchronize();
  const calls: Readonly<Record<string, () => unknown>> = {
    cuStreamCreateWithPriority: () => new Stream(context),
    cuStreamGetPriority: () => stream.priority,
    cuStreamQuery: () => stream.query(),
    cuStreamSynchronize: () => stream.synchronize(),
    cuStreamWaitEvent: () => stream.wait(event),
    cuEventCreate: () => new CudaEvent(context),
    cuEventRecord: () => event.record(stream),
    cuEventRecordWithFlags: () => event.recordInGraph(stream),
    cuEventQuery: () => event.query(),
    cuEventSynchronize: () => event.synchronize(),
    cuEventElapsedTime: () => event.elapsedMicros(start),
  };
  for (const [name, call] of Object.entries(calls)) {
    gpu.control.inject(name, 1, 801);
    fails(801, name, call);
  }
});

cudaTest("a stream that nobody waits for lets go of what has passed", (context) => {
  using stream = new Stream(context);
  using beside = new Stream(context);
  using passed = new CudaEvent(context);
  using first = new DeviceMemory(context, 64);
  using second = new DeviceMemory(context, 64);
  using gate = new Gate(context);
  const fillOften = () => {
    for (let i = 0; i < 256; i++) second.fill({ bits: 8, value: 0 }, 0, 64, stream);
  };
  first.fill({ bits: 8, value: 0 }, 0, 64, stream);
  fillOften();
  passed.record(stream);
  beside.wait(passed);
  beside.synchronize(); // so all is done, and nothing has asked this stream about it
  gate.close(stream);
  fillOften();
  first.idle("test");
  fails(ILLEGAL_STATE, "test", () => second.idle("test"));
});

cudaTest("a stream is not disposed while it is captured", (context) => {
  using stream = new Stream(context);
  using memory = new DeviceMemory(context, 64);
  using _graph = captureGraph(stream, () => {
    memory.fill({ bits: 8, value: 0 }, 0, 64, stream);
    fails(ILLEGAL_STATE, "dispose", () => stream[Symbol.dispose]());
  });
  stream.synchronize();
});

cudaTest("elapsedMicros() says what events without a time lack", (context) => {
  using stream = new Stream(context);
  using timed = new CudaEvent(context);
  using untimed = new CudaEvent(context, { timed: false });
  using unrecorded = new CudaEvent(context);
  for (const event of [timed, untimed]) event.record(stream);
  stream.synchronize();
  for (const event of [untimed, unrecorded]) {
    assert.throws(() => event.elapsedMicros(timed), {
      call: "cuEventElapsedTime",
      code: INVALID_HANDLE,
      hint: "Make both timed, and record both first.",
    });
  }
});
