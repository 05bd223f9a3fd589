/**
 * Rows of the table: the primary context of a device, and which context is current.
 *
 * @module
 */

/** Functions of contexts. */
export const CONTEXT = {
  // CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev)
  cuDevicePrimaryCtxRetain: { parameters: ["buffer", "i32"], result: "i32" },
  // CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
  cuDevicePrimaryCtxRelease_v2: { parameters: ["i32"], result: "i32" },

  // CUresult cuCtxSetCurrent(CUcontext ctx)
  cuCtxSetCurrent: { parameters: ["u64"], result: "i32" },
  // CUresult cuCtxGetCurrent(CUcontext* pctx)
  // Only tests ask; a driver here knows by itself.
  cuCtxGetCurrent: { parameters: ["buffer"], result: "i32" },
  // CUresult cuCtxSynchronize(void)
  cuCtxSynchronize: { parameters: [], result: "i32" },
  // CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit)
  cuCtxGetLimit: { parameters: ["buffer", "i32"], result: "i32" },
  // CUresult cuCtxSetLimit(CUlimit limit, size_t value)
  cuCtxSetLimit: { parameters: ["i32", "usize"], result: "i32" },
  // CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority)
  cuCtxGetStreamPriorityRange: { parameters: ["buffer", "buffer"], result: "i32" },
} as const;
