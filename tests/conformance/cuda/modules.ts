/**
 * Cases of the conformance suite: modules, in place and beside the event loop.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Context } from "../../../ffi/cuda/context.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { ModuleLoader } from "../../../ffi/cuda/module_loader.ts";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { type ConformanceCase, fails } from "./case.ts";
import { BROKEN, fatbinOf, KERNELS, MANY_KERNELS } from "./kernels.ts";

const INVALID_IMAGE = 200;
const INVALID_PTX = 218;
const NOT_FOUND = 500;
const INVALID_HANDLE = 400;
const ILLEGAL_STATE = 401;

/** Modules. */
export const MODULE_CASES: readonly ConformanceCase[] = [
  {
    name: "loadModule() takes PTX as text and as bytes, with a NUL or without",
    run(context) {
      for (const bytes of [KERNELS, `${KERNELS}\0`].map((text) => new TextEncoder().encode(text))) {
        using module = loadModule(context, bytes, "bytes");
        assert.equal(module.function("scale").name, "scale");
      }
      using module = loadModule(context, KERNELS, "text");
      assert.equal(module.function("reverse").name, "reverse");
    },
  },
  {
    name: "loadModule() takes PTX in a fatbin, and refuses one that is cut off",
    run(context) {
      const fatbin = fatbinOf(KERNELS);
      using module = loadModule(context, fatbin, "fatbin");
      assert.equal(module.function("dot").name, "dot");
      const half = fatbin.subarray(0, fatbin.length / 2);
      fails(INVALID_IMAGE, "cuModuleLoadDataEx", () => loadModule(context, half, "half"));
    },
  },
  {
    name: "loadModule() says what the compiler says of wrong PTX",
    run(context) {
      assert.throws(() => loadModule(context, BROKEN, "gemm"), (error) => {
        assert.ok(error instanceof CudaError);
        assert.equal(error.call, "cuModuleLoadDataEx");
        assert.equal(error.code, INVALID_PTX);
        assert.match(error.text, /module gemm: .*\bline 8\b/s);
        assert.match(error.text, /frobnicate/);
        return true;
      });
    },
  },
  {
    name: "loadModule() refuses text that is no PTX, and a binary that is cut off",
    run(context) {
      for (const source of ["", "no PTX", "\x7fELF", "\x50\xed\x55\xba"]) {
        const bytes = Uint8Array.from(source, (letter) => letter.charCodeAt(0));
        assert.throws(() => loadModule(context, bytes, "none"), (error) => {
          assert.ok(error instanceof CudaError, String(error));
          assert.equal(error.call, "cuModuleLoadDataEx");
          return true;
        });
      }
    },
  },
  {
    name: "function() says that there is no such kernel",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      fails(NOT_FOUND, "cuModuleGetFunction", () => module.function("scales"));
      assert.throws(() => module.function("scales"), /module kernels has no kernel scales/);
      if (context.driver.symbols.cuModuleEnumerateFunctions === null) return;
      assert.throws(() => module.function("scales"), (error) => {
        const [, list] = (error as CudaError).hint.match(/^It has (.*)\.$/)!;
        assert.deepEqual(list.split(", ").sort(), ["dot", "reverse", "scale", "scale_by_factor"]);
        return true;
      });
    },
  },
  {
    name: "global() gives a variable's address and size; kernels read what is written there",
    run(context) {
      using module = loadModule(context, KERNELS, "kernels");
      const { address, bytes } = module.global("factor");
      assert.equal(bytes, 4);
      assert.ok(address > 0n);
      fails(NOT_FOUND, "cuModuleGetGlobal_v2", () => module.global("factors"));
      assert.equal(scaledByFactor(context, module.function("scale_by_factor"), 21), 42);
      copyToDevice(context, address, new Float32Array([-3]));
      assert.equal(scaledByFactor(context, module.function("scale_by_factor"), 21), -63);
    },
  },
  {
    name: "a module loaded twice has variables of its own each time",
    run(context) {
      using first = loadModule(context, KERNELS, "first");
      using second = loadModule(context, KERNELS, "second");
      copyToDevice(context, first.global("factor").address, new Float32Array([10]));
      assert.equal(scaledByFactor(context, first.function("scale_by_factor"), 1), 10);
      assert.equal(scaledByFactor(context, second.function("scale_by_factor"), 1), 2);
    },
  },
  {
    name: "nothing of a module can be used once it is disposed",
    run(context) {
      const module = loadModule(context, KERNELS, "kernels");
      const kernel = module.function("scale");
      const launch = new KernelLaunch(
        kernel,
        { grid: [1], block: [1] },
        new KernelArguments("pfi"),
      );
      module[Symbol.dispose]();
      module[Symbol.dispose]();
      using stream = new Stream(context);
      fails(INVALID_HANDLE, "cuLaunchKernel", () => launch.enqueue(stream));
      fails(INVALID_HANDLE, "cuFuncGetAttribute", () => kernel.attribute("registers"));
      fails(INVALID_HANDLE, "cuModuleGetFunction", () => module.function("scale"));
      fails(INVALID_HANDLE, "cuModuleGetGlobal_v2", () => module.global("factor"));
    },
  },
  {
    name: "ModuleLoader loads large modules beside the event loop, several at once",
    async run(context) {
      await using loader = new ModuleLoader(context);
      const loading = [0, 1, 2].map((index) => loader.load(MANY_KERNELS, `many ${index}`));
      fails(ILLEGAL_STATE, "dispose", () => context[Symbol.dispose]());
      for (const module of await Promise.all(loading)) {
        using loaded = module;
        assert.equal(written(context, loaded.function("k63")), 63);
      }
    },
  },
  {
    name: "ModuleLoader loads small modules in place",
    async run(context) {
      await using loader = new ModuleLoader(context);
      const small = MANY_KERNELS.slice(0, MANY_KERNELS.indexOf(".visible .entry k1("));
      using module = await loader.load(small, "small");
      assert.equal(written(context, module.function("k0")), 0);
    },
  },
  {
    name: "ModuleLoader says what is wrong with one module, and goes on to the next",
    async run(context) {
      await using loader = new ModuleLoader(context);
      const wrong = loader.load(`${BROKEN}\n//${" ".repeat(4096)}`, "wrong");
      const right = loader.load(MANY_KERNELS, "right");
      await assert.rejects(wrong, (error) => {
        assert.ok(error instanceof CudaError);
        assert.equal(error.code, INVALID_PTX);
        assert.match(error.text, /module wrong: .*frobnicate/s);
        return true;
      });
      using module = await right;
      assert.equal(written(context, module.function("k7")), 7);
    },
  },
  {
    name: "ModuleLoader finishes what it is loading before it is disposed, and loads nothing after",
    async run(context) {
      const loader = new ModuleLoader(context);
      const loading = loader.load(MANY_KERNELS, "late");
      await loader[Symbol.asyncDispose]();
      (await loading)[Symbol.dispose]();
      await assert.rejects(loader.load(KERNELS, "too late"), { code: ILLEGAL_STATE });
    },
  },
];

type Kernel = ConstructorParameters<typeof KernelLaunch>[0];

function runOnce(context: Context, kernel: Kernel, args: KernelArguments): void {
  using stream = new Stream(context);
  new KernelLaunch(kernel, { grid: [1], block: [1] }, args).enqueue(stream);
  stream.synchronize();
}

function scaledByFactor(context: Context, kernel: Kernel, value: number): number {
  using x = new DeviceMemory(context, 4);
  const host = new Float32Array([value]);
  x.write(host);
  runOnce(context, kernel, new KernelArguments("p").setAll(x.address));
  x.read(host);
  return host[0];
}

/** What a kernel of {@linkcode MANY_KERNELS} writes. */
function written(context: Context, kernel: Kernel): number {
  using out = new DeviceMemory(context, 4);
  runOnce(context, kernel, new KernelArguments("p").setAll(out.address));
  const host = new Int32Array(1);
  out.read(host);
  return host[0];
}

/** To an address that no memory object stands for. */
function copyToDevice(context: Context, address: bigint, data: Float32Array<ArrayBuffer>): void {
  const { driver } = context;
  const bytes = new Uint8Array(data.buffer);
  driver.check(
    "cuMemcpyHtoD_v2",
    driver.symbols.cuMemcpyHtoD_v2(address, bytes, BigInt(bytes.length)),
  );
}
