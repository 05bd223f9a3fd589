import assert from "node:assert/strict";
import v8 from "node:v8";
import vm from "node:vm";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { Owned } from "../../../ffi/cuda/owned.ts";

/** Owns a number, and notes what is released. */
class Thing extends Owned {
  constructor(readonly log: unknown[], label: string, parent?: Owned, readonly failure?: Error) {
    super(parent, label, 7n);
  }

  protected override release(handle: bigint): void {
    if (this.failure !== undefined) throw this.failure;
    this.log.push(`${this.label} ${handle}`);
  }

  protected override releaseFailed(error: unknown): void {
    this.log.push(error);
    super.releaseFailed(error);
  }
}

function refuses(text: RegExp, run: () => void): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof CudaError);
    assert.match(error.message, text);
    assert.notEqual(error.hint, "");
    return true;
  });
}

Deno.test("Owned releases what it owns once, when its scope ends", () => {
  const log: unknown[] = [];
  {
    using thing = new Thing(log, "thing");
    assert.equal(thing.live("cuUse"), 7n);
    assert.equal(thing.disposed, false);
    thing[Symbol.dispose]();
    assert.equal(thing.disposed, true);
  }
  assert.deepEqual(log, ["thing 7"]);
});

Deno.test("Owned refuses to be used once it has been disposed", () => {
  const thing = new Thing([], "thing");
  thing[Symbol.dispose]();
  refuses(
    /^cuUse failed with CUDA_ERROR_INVALID_HANDLE \(400\): the thing has been disposed/,
    () => {
      thing.live("cuUse");
    },
  );
});

Deno.test("Owned is not disposed before its children, which the error names", () => {
  const log: unknown[] = [];
  const parent = new Thing(log, "parent");
  const children = Array.from(
    { length: 7 },
    (_, index) => new Thing(log, `child ${index}`, parent),
  );
  refuses(/the parent is still needed by child 0, .*child 4 and 2 more/, () => {
    parent[Symbol.dispose]();
  });
  assert.equal(parent.live("cuUse"), 7n);
  for (const child of children) child[Symbol.dispose]();
  parent[Symbol.dispose]();
  assert.equal(log.length, 8);
});

Deno.test("Owned is not disposed while work uses it, until the work is seen to be done", () => {
  const log: unknown[] = [];
  const thing = new Thing(log, "thing");
  let done = false;
  const use = { label: "stream 1", refresh: () => done && thing.endUse(use) };
  thing.beginUse(use);
  thing.beginUse(use);
  thing.endUse(use);
  refuses(/the thing is in use by stream 1/, () => thing[Symbol.dispose]());
  assert.deepEqual(log, []);
  done = true;
  thing[Symbol.dispose]();
  assert.deepEqual(log, ["thing 7"]);
});

Deno.test("Owned hands an error of its release to the root", () => {
  const log: unknown[] = [];
  const failure = new Error("the driver refuses");
  const root = new Thing(log, "root");
  const child = new Thing([], "child", new Thing([], "middle", root), failure);
  child[Symbol.dispose]();
  assert.deepEqual(log, [failure]);
});

Deno.test("Owned reports an object that is lost, and names it when its parent is disposed", async () => {
  v8.setFlagsFromString("--expose-gc");
  const collect = vm.runInNewContext("gc") as () => void;
  const log: unknown[] = [];
  const root = new Thing(log, "root");
  const middle = new Thing(log, "middle", root);
  const lost = new Promise<string>((resolve) => root.onLeak(resolve));
  (() => void new Thing(log, "child", middle))();
  // One that was disposed is no leak.
  (() => new Thing(log, "tidy", middle)[Symbol.dispose]())();
  let told: string | undefined;
  lost.then((label) => told = label);
  while (told === undefined) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.equal(told, "child");
  assert.deepEqual(log, ["tidy 7"], "nothing is freed");
  refuses(/the middle is still needed by child \(lost\)/, () => middle[Symbol.dispose]());
});
