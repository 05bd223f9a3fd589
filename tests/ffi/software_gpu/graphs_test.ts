import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  ADD,
  Arguments,
  Code,
  launch,
  ok,
  type RawDriver,
  STORE,
  withContext,
  words,
} from "./raw_driver.ts";

const NONE = 0, ACTIVE = 1, INVALIDATED = 2;
const GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2;
const KERNEL = 0, MEMSET = 2, GRAPH = 4, EVENT_WAIT = 6, EVENT_RECORD = 7;

/** Runs `record` while a stream is captured. */
function capture(
  driver: RawDriver,
  stream: bigint,
  record: () => void,
  mode = THREAD_LOCAL,
): bigint {
  ok(driver.cu.cuStreamBeginCapture_v2(stream, mode));
  record();
  return driver.handle(driver.cu.cuStreamEndCapture(stream, driver.out));
}

/** An executable graph. */
function instantiate(driver: RawDriver, graph: bigint): bigint {
  return driver.handle(driver.cu.cuGraphInstantiateWithFlags(driver.out, graph, 0n));
}

function nodesOf(driver: RawDriver, graph: bigint): bigint[] {
  const count = words(64n), nodes = new Uint8Array(8 * 64);
  ok(driver.cu.cuGraphGetNodes(graph, nodes, count));
  return [...new BigUint64Array(nodes.buffer, 0, Number(new BigUint64Array(count.buffer)[0]))];
}

function typesOf(driver: RawDriver, graph: bigint): number[] {
  return nodesOf(driver, graph).map((node) =>
    driver.int(driver.cu.cuGraphNodeGetType(node, driver.out))
  );
}

/** Edges as pairs of indices of nodes. */
function edgesOf(driver: RawDriver, graph: bigint): number[][] {
  const nodes = nodesOf(driver, graph);
  const count = words(64n), from = new Uint8Array(8 * 64), to = new Uint8Array(8 * 64);
  ok(driver.cu.cuGraphGetEdges(graph, from, to, count));
  const begins = new BigUint64Array(from.buffer), ends = new BigUint64Array(to.buffer);
  return Array.from({ length: Number(new BigUint64Array(count.buffer)[0]) }, (_, i) => [
    nodes.indexOf(begins[i]),
    nodes.indexOf(ends[i]),
  ]);
}

/** Everything that the tests below use, taken down at the end. */
function scene(driver: RawDriver) {
  const { cu } = driver;
  const stream = driver.stream(),
    side = driver.stream(),
    event = driver.event(),
    join = driver.event();
  const memory = driver.alloc(8), module = driver.load(ADD), storing = driver.load(STORE);
  const add = driver.function(module, "add"), store = driver.function(storing, "store");
  ok(cu.cuMemsetD32_v2(memory, 0, 2n));
  return {
    stream,
    side,
    event,
    join,
    memory,
    add: (value: number, on = stream) => ok(launch(driver, add, on, new Arguments(memory, value))),
    store: (value: number, on = stream) =>
      ok(launch(driver, store, on, new Arguments(memory, value))),
    addFunction: add,
    [Symbol.dispose]() {
      cu.cuCtxSynchronize();
      for (const one of [stream, side]) cu.cuStreamDestroy_v2(one);
      for (const one of [event, join]) cu.cuEventDestroy_v2(one);
      for (const one of [module, storing]) cu.cuModuleUnload(one);
      cu.cuMemFree_v2(memory);
    },
  };
}

softwareGpuTest(
  "what is captured is not done until the graph is launched, each time anew",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      const graph = capture(driver, on.stream, () => {
        assert.equal(driver.int(cu.cuStreamIsCapturing(on.stream, out)), ACTIVE);
        ok(cu.cuMemsetD32Async(on.memory + 4n, 5, 1n, on.stream));
        on.add(3);
      });
      assert.equal(driver.int(cu.cuStreamIsCapturing(on.stream, out)), NONE);
      assert.deepEqual(typesOf(driver, graph), [MEMSET, KERNEL]);
      assert.deepEqual(edgesOf(driver, graph), [[0, 1]]);
      assert.deepEqual(driver.readWords(on.memory, 2), [0, 0]);
      const exec = instantiate(driver, graph);
      ok(cu.cuGraphDestroy(graph));
      for (let i = 0; i < 4; i++) ok(cu.cuGraphLaunch(exec, on.stream));
      ok(cu.cuStreamSynchronize(on.stream));
      assert.deepEqual(driver.readWords(on.memory, 2), [12, 5]);
      assert.equal(gpu.control.counter("launches"), 4);
      ok(cu.cuGraphExecDestroy(exec));
      assert.equal(cu.cuGraphLaunch(exec, on.stream), Code.INVALID_HANDLE);
    }),
);

softwareGpuTest("a capture forks and joins by events", (gpu) =>
  withContext(gpu, (driver) => {
    const { cu } = driver;
    using on = scene(driver);
    const graph = capture(driver, on.stream, () => {
      on.store(1);
      ok(cu.cuEventRecord(on.event, on.stream));
      ok(cu.cuStreamWaitEvent(on.side, on.event, 0));
      ok(cu.cuMemsetD32Async(on.memory + 4n, 2, 1n, on.side));
      ok(cu.cuEventRecord(on.join, on.side));
      on.add(1);
      ok(cu.cuStreamWaitEvent(on.stream, on.join, 0));
      on.add(1);
    });
    const edges = edgesOf(driver, graph).map((edge) => edge.join(">")).sort();
    assert.deepEqual(edges, ["0>1", "0>2", "1>3", "2>3"]);
    ok(cu.cuGraphDestroy(graph));
  }));

/** A call that a capture does not allow, its code, and whether the capture is void afterwards. */
const ILLEGAL: readonly [
  string,
  (driver: RawDriver, on: ReturnType<typeof scene>) => number,
  number,
  boolean,
][] = [
  ["synchronising it", ({ cu }, on) => cu.cuStreamSynchronize(on.stream), 900, true],
  ["asking it", ({ cu }, on) => cu.cuStreamQuery(on.stream), 900, true],
  ["synchronising everything", ({ cu }) => cu.cuCtxSynchronize(), 900, true],
  ["allocating memory", ({ cu, out }) => cu.cuMemAlloc_v2(out, 4n), 900, true],
  ["asking any event", ({ cu }, on) => cu.cuEventQuery(on.join), 900, true],
  ["beginning another in it", ({ cu }, on) => cu.cuStreamBeginCapture_v2(on.stream, 2), 401, false],
  [
    "ending one in another stream",
    ({ cu, out }, on) => cu.cuStreamEndCapture(on.side, out),
    401,
    false,
  ],
  ["capturing the default stream", ({ cu }) => cu.cuStreamBeginCapture_v2(0n, 2), 900, false],
  [
    "waiting for what lies outside",
    ({ cu }, on) => {
      ok(cu.cuEventRecord(on.event, on.side));
      return cu.cuStreamWaitEvent(on.stream, on.event, 0);
    },
    Code.CAPTURE_ISOLATION,
    true,
  ],
  [
    "asking an event of it",
    ({ cu }, on) => {
      ok(cu.cuEventRecord(on.event, on.stream));
      return cu.cuEventQuery(on.event);
    },
    Code.CAPTURED_EVENT,
    false,
  ],
  [
    "ending it in a stream that joined",
    ({ cu, out }, on) => {
      ok(cu.cuEventRecord(on.event, on.stream));
      ok(cu.cuStreamWaitEvent(on.side, on.event, 0));
      return cu.cuStreamEndCapture(on.side, out);
    },
    Code.CAPTURE_UNMATCHED,
    false,
  ],
];

for (const [what, illegal, code, isVoid] of ILLEGAL) {
  softwareGpuTest(
    `while a stream is captured, ${what} yields ${code}`,
    (gpu) =>
      withContext(gpu, (driver) => {
        const { cu, out } = driver;
        using on = scene(driver);
        ok(cu.cuStreamBeginCapture_v2(on.stream, GLOBAL));
        assert.equal(illegal(driver, on), code);
        const status = driver.int(cu.cuStreamIsCapturing(on.stream, out));
        assert.equal(status, isVoid ? INVALIDATED : ACTIVE);
        if (isVoid) {
          assert.equal(cu.cuMemsetD32Async(on.memory, 1, 1n, on.stream), Code.CAPTURE_INVALIDATED);
        }
        const ended = cu.cuStreamEndCapture(on.stream, out);
        assert.equal(ended, isVoid ? Code.CAPTURE_INVALIDATED : 0);
        if (!isVoid) ok(cu.cuGraphDestroy(driver.handle(0)));
        ok(cu.cuMemsetD32Async(on.memory, 1, 1n, on.stream));
      }),
  );
}

softwareGpuTest(
  "a relaxed capture, or thread, may allocate",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      const allocate = () => ok(cu.cuMemFree_v2(driver.alloc(4)));
      const mode = new Uint8Array(new Uint32Array([RELAXED]).buffer);
      const graphs = [
        capture(driver, on.stream, allocate, RELAXED),
        capture(driver, on.stream, () => {
          ok(cu.cuThreadExchangeStreamCaptureMode(mode));
          allocate();
          ok(cu.cuThreadExchangeStreamCaptureMode(mode));
        }, GLOBAL),
      ];
      for (const graph of graphs) ok(cu.cuGraphDestroy(graph));
      ok(cu.cuStreamBeginCapture_v2(on.stream, GLOBAL));
      assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.CAPTURE_UNSUPPORTED, "the mode is what it was");
      assert.equal(cu.cuStreamEndCapture(on.stream, out), Code.CAPTURE_INVALIDATED);
    }),
);

softwareGpuTest(
  "the default stream may not wait for a captured one",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const stream = driver.stream(0), memory = driver.alloc(4);
      ok(cu.cuStreamBeginCapture_v2(stream, RELAXED));
      assert.equal(cu.cuMemsetD32Async(memory, 1, 1n, 0n), Code.CAPTURE_IMPLICIT);
      assert.equal(cu.cuStreamEndCapture(stream, out), Code.CAPTURE_INVALIDATED);
      ok(cu.cuMemsetD32Async(memory, 1, 1n, 0n));
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuStreamDestroy_v2(stream));
    }),
);

softwareGpuTest(
  "a fork that is not joined, and captures that would merge, are refused",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      ok(cu.cuStreamBeginCapture_v2(on.stream, RELAXED));
      on.add(1);
      ok(cu.cuEventRecord(on.event, on.stream));
      ok(cu.cuStreamWaitEvent(on.side, on.event, 0));
      on.add(1, on.side);
      assert.equal(cu.cuStreamEndCapture(on.stream, out), Code.CAPTURE_UNJOINED);
      assert.equal(cu.cuStreamWaitEvent(on.side, on.event, 0), Code.CAPTURED_EVENT);
      ok(cu.cuStreamBeginCapture_v2(on.stream, RELAXED));
      ok(cu.cuStreamBeginCapture_v2(on.side, RELAXED));
      ok(cu.cuEventRecord(on.event, on.stream));
      assert.equal(cu.cuStreamWaitEvent(on.side, on.event, 0), Code.CAPTURE_MERGE);
      assert.equal(cu.cuStreamEndCapture(on.stream, out), Code.CAPTURE_INVALIDATED);
      assert.equal(cu.cuStreamEndCapture(on.side, out), Code.CAPTURE_INVALIDATED);
    }),
);

softwareGpuTest(
  "an event inside of a graph is recorded at every launch",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      const graph = capture(driver, on.stream, () => {
        ok(cu.cuEventRecordWithFlags(on.event, on.stream, 1));
        on.add(1);
        ok(cu.cuEventRecordWithFlags(on.join, on.stream, 1));
      });
      assert.deepEqual(typesOf(driver, graph), [EVENT_RECORD, KERNEL, EVENT_RECORD]);
      const exec = instantiate(driver, graph);
      gpu.control.delayKernel("add", 1, Infinity);
      ok(cu.cuGraphLaunch(exec, on.stream));
      ok(cu.cuEventSynchronize(on.event));
      assert.equal(cu.cuEventQuery(on.join), Code.NOT_READY, "the graph has not come that far");
      assert.equal(cu.cuEventElapsedTime(out, on.event, on.join), Code.NOT_READY);
      gpu.control.reset();
    }),
);

softwareGpuTest("a graph is made node by node", (gpu) =>
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    using on = scene(driver);
    const context = driver.handle(cu.cuCtxGetCurrent(out));
    const graph = driver.handle(cu.cuGraphCreate(out, 0));
    const fill = (value: bigint) => words(on.memory, 0n, 4n << 32n | value, 1n, 1n);
    const first = driver.handle(cu.cuGraphAddEmptyNode(out, graph, null, 0n));
    const late = driver.handle(cu.cuGraphAddMemsetNode(out, graph, null, 0n, fill(2n), context));
    const early = driver.handle(
      cu.cuGraphAddMemsetNode(out, graph, words(first), 1n, fill(1n), context),
    );
    const record = driver.handle(
      cu.cuGraphAddEventRecordNode(out, graph, words(late), 1n, on.event),
    );
    driver.handle(cu.cuGraphAddEventWaitNode(out, graph, words(record), 1n, on.join));
    ok(cu.cuGraphAddDependencies(graph, words(early), words(late), 1n));
    const again = cu.cuGraphAddDependencies(graph, words(early), words(late), 1n);
    assert.equal(again, Code.INVALID_VALUE, "the same edge twice");
    const twice = cu.cuGraphAddEmptyNode(out, graph, words(early, early), 2n);
    assert.equal(twice, Code.INVALID_VALUE);
    assert.equal(typesOf(driver, graph).at(-1), EVENT_WAIT);
    const exec = driver.handle(cu.cuGraphInstantiate_v2(out, graph, null, null, 0n));
    ok(cu.cuGraphLaunch(exec, on.stream));
    ok(cu.cuEventSynchronize(on.event));
    assert.deepEqual(driver.readWords(on.memory, 1), [2], "in order of the edge, not of creation");
    ok(cu.cuGraphAddDependencies(graph, words(late), words(early), 1n));
    const circle = cu.cuGraphInstantiateWithFlags(out, graph, 0n);
    assert.equal(circle, Code.INVALID_VALUE, "a circle");
    const other = driver.handle(cu.cuGraphCreate(out, 0));
    const foreign = cu.cuGraphAddEmptyNode(out, other, words(early), 1n);
    assert.equal(foreign, Code.INVALID_VALUE, "a node of another graph");
    ok(cu.cuGraphDestroy(graph));
    assert.equal(cu.cuGraphNodeGetType(early, out), Code.INVALID_HANDLE);
    ok(cu.cuGraphDestroy(other));
    ok(cu.cuGraphExecDestroy(exec));
  }));

softwareGpuTest(
  "adversarial mode shows an edge that is missing",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      const context = driver.handle(cu.cuCtxGetCurrent(out));
      const graph = driver.handle(cu.cuGraphCreate(out, 0));
      for (let value = 1n; value <= 4n; value++) {
        const fill = words(on.memory, 0n, 4n << 32n | value, 1n, 1n);
        ok(cu.cuGraphAddMemsetNode(out, graph, null, 0n, fill, context));
      }
      const results = new Set<number>();
      for (let seed = 1; seed <= 16; seed++) {
        gpu.control.configure({ adversarialSeed: seed });
        const exec = instantiate(driver, graph);
        ok(cu.cuGraphLaunch(exec, on.stream));
        ok(cu.cuStreamSynchronize(on.stream));
        results.add(driver.readWords(on.memory, 1)[0]);
        ok(cu.cuGraphExecDestroy(exec));
      }
      assert.ok(results.size > 1);
      ok(cu.cuGraphDestroy(graph));
    }),
);

softwareGpuTest(
  "arguments of a kernel node change in the executable graph only",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      using on = scene(driver);
      const graph = capture(driver, on.stream, () => on.add(1));
      const exec = instantiate(driver, graph);
      const [node] = nodesOf(driver, graph);
      const params = new Uint8Array(72);
      ok(cu.cuGraphKernelNodeGetParams_v2(node, params));
      const view = new DataView(params.buffer);
      assert.equal(view.getBigUint64(0, true), on.addFunction);
      const changed = new Arguments(on.memory, 100);
      const pointer = Deno.UnsafePointer.value(Deno.UnsafePointer.of(changed.pointers));
      view.setBigUint64(40, pointer, true);
      ok(cu.cuGraphExecKernelNodeSetParams_v2(exec, node, params));
      ok(cu.cuGraphLaunch(exec, on.stream));
      const fresh = instantiate(driver, graph);
      ok(cu.cuGraphLaunch(fresh, on.stream));
      ok(cu.cuStreamSynchronize(on.stream));
      assert.deepEqual(driver.readWords(on.memory, 1), [101]);
      view.setUint32(8, 0, true);
      const wrong = cu.cuGraphExecKernelNodeSetParams_v2(exec, node, params);
      assert.equal(wrong, Code.INVALID_VALUE, "a grid of nothing");
      for (const one of [exec, fresh]) ok(cu.cuGraphExecDestroy(one));
      ok(cu.cuGraphDestroy(graph));
    }),
);

softwareGpuTest(
  "an executable graph becomes another graph of the same shape, and no other",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      using on = scene(driver);
      const graph = capture(driver, on.stream, () => on.add(1));
      const exec = instantiate(driver, graph);
      const same = capture(driver, on.stream, () => on.add(40));
      const longer = capture(driver, on.stream, () => {
        on.add(1);
        on.add(2);
      });
      const filling = capture(
        driver,
        on.stream,
        () => ok(cu.cuMemsetD32Async(on.memory, 1, 1n, on.stream)),
      );
      const info = new Uint8Array(24);
      const update = (to: bigint) => cu.cuGraphExecUpdate_v2(exec, to, info);
      const [TOPOLOGY_CHANGED, TYPE_CHANGED] = [2, 3];
      assert.equal(update(longer), Code.GRAPH_EXEC_UPDATE_FAILURE);
      assert.equal(info[0], TOPOLOGY_CHANGED);
      assert.equal(update(filling), Code.GRAPH_EXEC_UPDATE_FAILURE);
      assert.equal(info[0], TYPE_CHANGED);
      assert.equal(new DataView(info.buffer).getBigUint64(8, true), nodesOf(driver, filling)[0]);
      ok(update(same));
      assert.equal(info[0], 0);
      ok(cu.cuGraphLaunch(exec, on.stream));
      ok(cu.cuStreamSynchronize(on.stream));
      assert.deepEqual(driver.readWords(on.memory, 1), [40]);
      for (const one of [graph, same, longer, filling]) ok(cu.cuGraphDestroy(one));
      ok(cu.cuGraphExecDestroy(exec));
    }),
);

softwareGpuTest(
  "a launch of a graph in a capture is a child, and a clone is a graph of its own",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using on = scene(driver);
      const graph = capture(driver, on.stream, () => on.add(1));
      const exec = instantiate(driver, graph);
      const parent = capture(driver, on.stream, () => {
        ok(cu.cuGraphLaunch(exec, on.stream));
        ok(cu.cuGraphLaunch(exec, on.stream));
      });
      assert.deepEqual(typesOf(driver, parent), [GRAPH, GRAPH]);
      const clone = driver.handle(cu.cuGraphClone(out, parent));
      assert.deepEqual(edgesOf(driver, clone), [[0, 1]]);
      ok(cu.cuGraphDestroy(parent));
      const all = instantiate(driver, clone);
      ok(cu.cuGraphLaunch(all, on.stream));
      ok(cu.cuStreamSynchronize(on.stream));
      assert.deepEqual(driver.readWords(on.memory, 1), [2]);
      for (const one of [graph, clone]) ok(cu.cuGraphDestroy(one));
      for (const one of [exec, all]) ok(cu.cuGraphExecDestroy(one));
    }),
);
