/**
 * The functions of NVIDIA's management library (NVML) that are called here. Where the result is an
 * `i32` it is an `nvmlReturn_t`, 0 on success.
 *
 * @module
 */

/** NVML, the functions by exported name. */
export const NVML = {
  // nvmlReturn_t nvmlInit_v2(void)
  nvmlInit_v2: { parameters: [], result: "i32" },
  // nvmlReturn_t nvmlShutdown(void)
  nvmlShutdown: { parameters: [], result: "i32" },
  // nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
  nvmlDeviceGetHandleByPciBusId_v2: { parameters: ["buffer", "buffer"], result: "i32" },
  // nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
  nvmlDeviceGetUtilizationRates: { parameters: ["u64", "buffer"], result: "i32" },
  // nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
  nvmlDeviceGetMemoryInfo: { parameters: ["u64", "buffer"], result: "i32" },
  // nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
  //     unsigned int *temp)
  nvmlDeviceGetTemperature: { parameters: ["u64", "i32", "buffer"], result: "i32" },
  // nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
  nvmlDeviceGetPowerUsage: { parameters: ["u64", "buffer"], result: "i32" },
} as const satisfies Record<string, Deno.ForeignFunction>;
