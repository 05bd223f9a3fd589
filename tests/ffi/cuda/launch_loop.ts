/**
 * Ten thousand launches between two lines of output, in a process of their own: V8 says there what
 * it collects.
 *
 * @module
 */
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { KERNELS } from "../../conformance/cuda/kernels.ts";

using driver = openDriver(Deno.args[0]);
using context = new Context(new CudaDevice(driver, 0));
using module = loadModule(context, KERNELS, "kernels");
using memory = new DeviceMemory(context, 4);
using stream = new Stream(context);
const args = new KernelArguments("pfi");
const launch = new KernelLaunch(module.function("scale"), { grid: [1], block: [1] }, args);
console.log("begin");
for (let i = 0; i < 10_000; i++) {
  args.set(0, memory.address);
  args.set(1, i);
  args.set(2, 1);
  launch.enqueue(stream);
}
console.log("end");
stream.synchronize();
