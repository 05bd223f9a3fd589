#include <algorithm>
#include <utility>

#include "capture.h"
#include "context.h"
#include "entry.h"

using namespace sgpu;

namespace {

constexpr unsigned kFlags = CU_CTX_FLAGS_MASK;

std::shared_ptr<Context> makeContext(Device& device, unsigned flags, bool primary) {
  auto context = std::make_shared<Context>(device, flags, primary);
  contexts().add(context);
  return context;
}

}  // namespace

// The primary context

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(context);
    Device& device = offeredDevice(ordinal);
    std::lock_guard lock(device.mutex);
    if (!device.primary) device.primary = makeContext(device, device.primaryFlags, true);
    device.retains++;
    *context = asHandle<CUcontext>(device.primary->handle);
  });
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    Device& device = offeredDevice(ordinal);
    std::lock_guard lock(device.mutex);
    require(device.retains != 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--device.retains == 0) std::exchange(device.primary, nullptr)->destroy();
  });
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    Device& device = offeredDevice(ordinal);
    std::lock_guard lock(device.mutex);
    device.retains = 0;
    if (device.primary) std::exchange(device.primary, nullptr)->destroy();
  });
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require((flags & ~kFlags) == 0);
    Device& device = offeredDevice(ordinal);
    std::lock_guard lock(device.mutex);
    device.primaryFlags = flags;
    if (device.primary) device.primary->flags = flags;
  });
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

SOFTWARE_GPU_API CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags,
                                                     int* active) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(flags && active);
    Device& device = offeredDevice(ordinal);
    std::lock_guard lock(device.mutex);
    *flags = device.primaryFlags;
    *active = device.primary != nullptr;
  });
}

// Contexts of one's own

SOFTWARE_GPU_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(context && (flags & ~kFlags) == 0);
    contextStack().push_back(makeContext(offeredDevice(ordinal), flags, false));
    *context = asHandle<CUcontext>(contextStack().back()->handle);
  });
}

SOFTWARE_GPU_API CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity,
                                         int count, unsigned flags, CUdevice ordinal) {
  if (affinity || count) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return cuCtxCreate_v2(context, flags, ordinal);
}

SOFTWARE_GPU_API CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params,
                                         unsigned flags, CUdevice ordinal) {
  if (params && params->numExecAffinityParams) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  if (params && params->cigParams) return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v2(context, flags, ordinal);
}

SOFTWARE_GPU_API CUresult cuCtxDestroy_v2(CUcontext handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto context = contextOf(handle);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
    context->destroy();
    auto& stack = contextStack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
  });
}

SOFTWARE_GPU_API CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }

// What is current

SOFTWARE_GPU_API CUresult cuCtxSetCurrent(CUcontext handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto& stack = contextStack();
    auto context = handle ? contextOf(handle) : nullptr;
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(std::move(context));
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetCurrent(CUcontext* context) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(context);
    const auto& stack = contextStack();
    *context = asHandle<CUcontext>(stack.empty() ? 0 : stack.back()->handle);
  });
}

SOFTWARE_GPU_API CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] { contextStack().push_back(contextOf(handle)); });
}

SOFTWARE_GPU_API CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }

SOFTWARE_GPU_API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto& stack = contextStack();
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (context) *context = asHandle<CUcontext>(stack.back()->handle);
    stack.pop_back();
  });
}

SOFTWARE_GPU_API CUresult cuCtxPopCurrent(CUcontext* context) {
  return cuCtxPopCurrent_v2(context);
}

// Questions to a context

SOFTWARE_GPU_API CUresult cuCtxGetDevice(CUdevice* device) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(device);
    *device = static_cast<CUdevice>(context.device.ordinal);
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetFlags(unsigned* flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(flags);
    *flags = context.flags;
  });
}

SOFTWARE_GPU_API CUresult cuCtxSetFlags(unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require((flags & ~kFlags) == 0);
    context.flags = flags;
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(id);
    *id = (handle ? contextOf(handle) : currentContext())->handle;
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(version);
    if (handle) contextOf(handle);
    *version = 3020;
  });
}

SOFTWARE_GPU_API CUresult cuCtxSynchronize() {
  static Entry entry(__func__);
  return entry.withContext([](Context& context) {
    refuseWhileCapturing();
    context.synchronize();
    return afterWaiting();
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
  });
}

// Limits and preferences

SOFTWARE_GPU_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    switch (limit) {
      case CU_LIMIT_STACK_SIZE:
        require(value <= (512 << 10));
        context.stackBytes = (std::max<size_t>(value, 16) + 15) / 16 * 16;
        return;
      case CU_LIMIT_PRINTF_FIFO_SIZE:
        context.printfBytes = value;
        return;
      case CU_LIMIT_MALLOC_HEAP_SIZE:
        context.heapBytes = value;
        return;
      default:
        fail(CUDA_ERROR_UNSUPPORTED_LIMIT);
    }
  });
}

SOFTWARE_GPU_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(value);
    switch (limit) {
      case CU_LIMIT_STACK_SIZE:
        *value = context.stackBytes;
        return;
      case CU_LIMIT_PRINTF_FIFO_SIZE:
        *value = context.printfBytes;
        return;
      case CU_LIMIT_MALLOC_HEAP_SIZE:
        *value = context.heapBytes;
        return;
      default:
        fail(CUDA_ERROR_UNSUPPORTED_LIMIT);
    }
  });
}

SOFTWARE_GPU_API CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  static Entry entry(__func__);
  return entry.withContext([](Context&) {});
}

SOFTWARE_GPU_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(config);
    *config = CU_FUNC_CACHE_PREFER_NONE;
  });
}
