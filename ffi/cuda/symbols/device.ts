/**
 * Rows of the table: errors, initialisation, version, devices.
 *
 * @module
 */

/** Functions that need no context. */
export const DEVICE = {
  // CUresult cuGetErrorName(CUresult error, const char** pStr)
  cuGetErrorName: { parameters: ["i32", "buffer"], result: "i32" },
  // CUresult cuGetErrorString(CUresult error, const char** pStr)
  cuGetErrorString: { parameters: ["i32", "buffer"], result: "i32" },

  // CUresult cuInit(unsigned int Flags)
  cuInit: { parameters: ["u32"], result: "i32" },
  // CUresult cuDriverGetVersion(int* driverVersion)
  cuDriverGetVersion: { parameters: ["buffer"], result: "i32" },

  // CUresult cuDeviceGetCount(int* count)
  cuDeviceGetCount: { parameters: ["buffer"], result: "i32" },
  // CUresult cuDeviceGet(CUdevice* device, int ordinal)
  cuDeviceGet: { parameters: ["buffer", "i32"], result: "i32" },
  // CUresult cuDeviceGetName(char* name, int len, CUdevice dev)
  cuDeviceGetName: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  // CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev)
  cuDeviceGetUuid_v2: { parameters: ["buffer", "i32"], result: "i32" },
  // CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev)
  cuDeviceGetPCIBusId: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  // CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev)
  cuDeviceTotalMem_v2: { parameters: ["buffer", "i32"], result: "i32" },
  // CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev)
  cuDeviceGetAttribute: { parameters: ["buffer", "i32", "i32"], result: "i32" },
} as const;
