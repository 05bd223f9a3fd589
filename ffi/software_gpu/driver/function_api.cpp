#include <algorithm>

#include "entry.h"
#include "launch.h"

using namespace sgpu;

namespace {

int attributeOf(const Function& function, CUfunction_attribute attribute) {
  const FunctionCode& code = function.code();
  auto module = function.module.lock();
  require(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(function.maxThreads());
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(code.sharedBytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return 0;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(code.localBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(code.registersPerThread);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return static_cast<int>(module->target);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return deviceAttribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
             deviceAttribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(function.maxDynamicShared.load());
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return function.preferredCarveout;
    default:
      require(attribute < CU_FUNC_ATTRIBUTE_MAX);
      return 0;
  }
}

void setAttribute(Function& function, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      require(value >= 0 && function.code().sharedBytes + static_cast<uint64_t>(value) <=
                                Limits::sharedPerBlockOptIn());
      function.maxDynamicShared = static_cast<uint32_t>(value);
      return;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      require(value >= -1 && value <= 100);
      function.preferredCarveout = value;
      return;
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

void paramInfo(const Function& function, size_t index, size_t* offset, size_t* bytes) {
  const auto& params = function.code().params;
  require(offset && index < params.size());
  *offset = params[index].offset;
  if (bytes) *bytes = params[index].bytes;
}

std::shared_ptr<Function> kernelOf(CUkernel handle) { return functions().get(asNumber(handle)); }

}  // namespace

SOFTWARE_GPU_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                             CUfunction function) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(value);
    *value = attributeOf(*functionOf(function), attribute);
  });
}

SOFTWARE_GPU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                             int value) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context&) { setAttribute(*functionOf(function), attribute, value); });
}

SOFTWARE_GPU_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) { functionOf(function); });
}

SOFTWARE_GPU_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(module);
    auto owner = functionOf(function)->module.lock();
    require(owner != nullptr, CUDA_ERROR_INVALID_HANDLE);
    *module = asHandle<CUmodule>(owner->handle);
  });
}

SOFTWARE_GPU_API CUresult cuFuncGetName(const char** name, CUfunction function) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(name);
    *name = functionOf(function)->code().name.c_str();
  });
}

SOFTWARE_GPU_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                             size_t* bytes) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context&) { paramInfo(*functionOf(function), index, offset, bytes); });
}

SOFTWARE_GPU_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(state);
    functionOf(function);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
  });
}

SOFTWARE_GPU_API CUresult cuFuncLoad(CUfunction function) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) { functionOf(function); });
}

// The same for kernels of libraries

SOFTWARE_GPU_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                                               CUkernel kernel, CUdevice device) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(value);
    offeredDevice(device);
    *value = attributeOf(*kernelOf(kernel), attribute);
  });
}

SOFTWARE_GPU_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                               CUkernel kernel, CUdevice device) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    offeredDevice(device);
    setAttribute(*kernelOf(kernel), attribute, value);
  });
}

SOFTWARE_GPU_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice device) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    offeredDevice(device);
    kernelOf(kernel);
  });
}

SOFTWARE_GPU_API CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(name);
    *name = kernelOf(kernel)->code().name.c_str();
  });
}

SOFTWARE_GPU_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                               size_t* bytes) {
  static Entry entry(__func__);
  return entry.withDriver([&] { paramInfo(*kernelOf(kernel), index, offset, bytes); });
}

// Occupancy

SOFTWARE_GPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t sharedBytes, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(blocks && threads > 0 && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    *blocks = static_cast<int>(blocksPerMultiprocessor(
        *functionOf(function), static_cast<uint64_t>(threads), sharedBytes));
  });
}

SOFTWARE_GPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                      CUfunction function,
                                                                      int threads,
                                                                      size_t sharedBytes) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(blocks && threads > 0);
    *blocks = static_cast<int>(blocksPerMultiprocessor(
        *functionOf(function), static_cast<uint64_t>(threads), sharedBytes));
  });
}

SOFTWARE_GPU_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                           CUfunction function,
                                                           CUoccupancyB2DSize sharedOf,
                                                           size_t sharedBytes, int limit) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(grid && block && limit >= 0);
    auto kernel = functionOf(function);
    const int most = static_cast<int>(kernel->maxThreads());
    int best = 0, bestThreads = 0;
    // Of sizes that fill a multiprocessor alike the largest: fewer blocks to start.
    for (int threads = limit ? std::min(limit, most) : most; threads > 0;
         threads = (threads - 1) / 32 * 32) {
      const size_t shared = sharedOf ? sharedOf(threads) : sharedBytes;
      const int blocks = static_cast<int>(
          blocksPerMultiprocessor(*kernel, static_cast<uint64_t>(threads), shared));
      if (blocks * threads > bestThreads) {
        bestThreads = blocks * threads;
        best = threads;
        *grid = blocks * static_cast<int>(Limits::multiprocessors);
      }
    }
    require(best != 0);
    *block = best;
  });
}

SOFTWARE_GPU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                                  CUfunction function, int blocks,
                                                                  int threads) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(bytes && blocks > 0 && threads > 0);
    auto kernel = functionOf(function);
    const uint64_t each = Limits::sharedPerMultiprocessor() / static_cast<uint64_t>(blocks);
    const uint64_t taken = kernel->code().sharedBytes + uint64_t(Limits::sharedReserved);
    const uint32_t most = blocksPerMultiprocessor(*kernel, static_cast<uint64_t>(threads), 0);
    require(each >= taken && static_cast<uint64_t>(blocks) <= most);
    *bytes = std::min<uint64_t>(each - taken, Limits::sharedPerBlockOptIn());
  });
}
