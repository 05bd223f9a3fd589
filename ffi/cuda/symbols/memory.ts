/**
 * Rows of the table: device memory, pinned host memory, copies.
 *
 * There is no row for `cuMemcpyDtoD_v2` and the plain `cuMemset`: they return before the device is
 * done, as the forms with a stream do, so those on stream 0 are the same.
 *
 * @module
 */

/** Functions of memory and copies. */
export const MEMORY = {
  // CUresult cuMemGetInfo_v2(size_t* free, size_t* total)
  cuMemGetInfo_v2: { parameters: ["buffer", "buffer"], result: "i32" },
  // CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize)
  cuMemAlloc_v2: { parameters: ["buffer", "usize"], result: "i32" },
  // CUresult cuMemFree_v2(CUdeviceptr dptr)
  cuMemFree_v2: { parameters: ["u64"], result: "i32" },
  // CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags)
  cuMemHostAlloc: { parameters: ["buffer", "usize", "u32"], result: "i32" },
  // CUresult cuMemFreeHost(void* p)
  cuMemFreeHost: { parameters: ["u64"], result: "i32" },

  // CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount)
  cuMemcpyHtoD_v2: { parameters: ["u64", "buffer", "usize"], result: "i32" },
  // CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount)
  cuMemcpyDtoH_v2: { parameters: ["buffer", "u64", "usize"], result: "i32" },
  // CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
  //     CUstream hStream)
  cuMemcpyHtoDAsync_v2: { parameters: ["u64", "buffer", "usize", "u64"], result: "i32" },
  // CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
  //     CUstream hStream)
  cuMemcpyDtoHAsync_v2: { parameters: ["buffer", "u64", "usize", "u64"], result: "i32" },
  // CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
  //     CUstream hStream)
  cuMemcpyDtoDAsync_v2: { parameters: ["u64", "u64", "usize", "u64"], result: "i32" },

  // CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
  cuMemsetD8Async: { parameters: ["u64", "u8", "usize", "u64"], result: "i32" },
  // CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
  cuMemsetD16Async: { parameters: ["u64", "u16", "usize", "u64"], result: "i32" },
  // CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
  cuMemsetD32Async: { parameters: ["u64", "u32", "usize", "u64"], result: "i32" },
} as const;
