/**
 * Rows of the table: address ranges, the physical chunks behind them, and the mapping of the two.
 *
 * @module
 */

/** Functions of virtual memory management. */
export const VIRTUAL_MEMORY = {
  // CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
  //     CUmemAllocationGranularity_flags option)
  cuMemGetAllocationGranularity: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  // CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
  //     unsigned long long flags)
  cuMemAddressReserve: {
    parameters: ["buffer", "usize", "usize", "u64", "u64"],
    result: "i32",
  },
  // CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
  cuMemAddressFree: { parameters: ["u64", "usize"], result: "i32" },
  // CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
  //     const CUmemAllocationProp* prop, unsigned long long flags)
  cuMemCreate: { parameters: ["buffer", "usize", "buffer", "u64"], result: "i32" },
  // CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
  cuMemRelease: { parameters: ["u64"], result: "i32" },
  // CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
  //     CUmemGenericAllocationHandle handle, unsigned long long flags)
  cuMemMap: { parameters: ["u64", "usize", "usize", "u64", "u64"], result: "i32" },
  // CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
  cuMemUnmap: { parameters: ["u64", "usize"], result: "i32" },
  // CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
  //     size_t count)
  cuMemSetAccess: { parameters: ["u64", "usize", "buffer", "usize"], result: "i32" },
} as const;
