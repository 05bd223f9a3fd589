/**
 * Rows of the table: modules, functions, occupancy, launches.
 *
 * @module
 */

/** Functions of modules and kernels. */
export const MODULE = {
  // CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
  //     CUjit_option* options, void** optionValues)
  cuModuleLoadDataEx: {
    parameters: ["buffer", "buffer", "u32", "buffer", "buffer"],
    result: "i32",
  },
  // CUresult cuModuleUnload(CUmodule hmod)
  cuModuleUnload: { parameters: ["u64"], result: "i32" },
  // CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name)
  cuModuleGetFunction: { parameters: ["buffer", "u64", "buffer"], result: "i32" },
  // CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod,
  //     const char* name)
  cuModuleGetGlobal_v2: { parameters: ["buffer", "buffer", "u64", "buffer"], result: "i32" },
  // CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod)
  // CUDA 12.4. Without it a missing function's error cannot list those that the module has.
  cuModuleGetFunctionCount: { parameters: ["buffer", "u64"], result: "i32", optional: true },
  // CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions,
  //     CUmodule mod)
  // CUDA 12.4, for the same.
  cuModuleEnumerateFunctions: {
    parameters: ["buffer", "u32", "u64"],
    result: "i32",
    optional: true,
  },

  // CUresult cuFuncGetName(const char** name, CUfunction hfunc)
  // CUDA 12.3, for the same.
  cuFuncGetName: { parameters: ["buffer", "u64"], result: "i32", optional: true },
  // CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc)
  cuFuncGetAttribute: { parameters: ["buffer", "i32", "u64"], result: "i32" },
  // CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
  cuFuncSetAttribute: { parameters: ["u64", "i32", "i32"], result: "i32" },
  // CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset,
  //     size_t* paramSize)
  // CUDA 12.4. Without it the count and sizes of arguments go unchecked.
  cuFuncGetParamInfo: {
    parameters: ["u64", "usize", "buffer", "buffer"],
    result: "i32",
    optional: true,
  },

  // CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func,
  //     int blockSize, size_t dynamicSMemSize)
  cuOccupancyMaxActiveBlocksPerMultiprocessor: {
    parameters: ["buffer", "u64", "i32", "usize"],
    result: "i32",
  },
  // CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
  //     CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit)
  cuOccupancyMaxPotentialBlockSize: {
    parameters: ["buffer", "buffer", "u64", "pointer", "usize", "i32"],
    result: "i32",
  },

  // CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
  //     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
  //     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
  //     void** extra)
  cuLaunchKernel: {
    parameters: [
      "u64",
      "u32",
      "u32",
      "u32",
      "u32",
      "u32",
      "u32",
      "u32",
      "u64",
      "buffer",
      "pointer",
    ],
    result: "i32",
  },
  // CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
  //     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
  //     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void** kernelParams)
  cuLaunchCooperativeKernel: {
    parameters: ["u64", "u32", "u32", "u32", "u32", "u32", "u32", "u32", "u64", "buffer"],
    result: "i32",
  },
} as const;
