/**
 * The CUDA driver, called without anything native in between.
 *
 * ```ts
 * using driver = openDriver();
 * using context = new Context(new CudaDevice(driver, 0));
 * using memory = new DeviceMemory(context, 4096);
 * memory.write(new Float32Array(1024).fill(1));
 * ```
 *
 * @module
 */
export * from "./arguments.ts";
export * from "./chunk_pool.ts";
export * from "./context.ts";
export * from "./device.ts";
export * from "./device_bytes.ts";
export * from "./driver.ts";
export * from "./errors.ts";
export * from "./event.ts";
export * from "./function.ts";
export * from "./graph.ts";
export * from "./graph_exec.ts";
export * from "./kernel_node.ts";
export * from "./launch.ts";
export * from "./memory.ts";
export * from "./module.ts";
export * from "./module_loader.ts";
export * from "./nvml/nvml.ts";
export * from "./owned.ts";
export * from "./parameter_types.ts";
export * from "./pinned.ts";
export * from "./poller.ts";
export * from "./stream.ts";
export * from "./virtual_memory.ts";
