#include "../memory/allocations.h"

#include "../memory/shadow.h"
#include "../memory/virtual_memory.h"
#include "capture.h"
#include "entry.h"
#include "options.h"

using namespace sgpu;

namespace {

constexpr uint64_t kPitchAlignment = 512;

uint64_t allocate(Context& context, uint64_t bytes, Allocation::Kind kind, unsigned flags = 0,
                  void* registered = nullptr) {
  Allocation wanted;
  wanted.kind = kind;
  wanted.begin = reinterpret_cast<uint64_t>(registered);
  wanted.bytes = bytes;
  wanted.device = context.device.ordinal;
  wanted.context = context.handle;
  wanted.flags = flags;
  const bool poison = options().adversarialSeed != 0;
  const uint64_t begin = allocations().make(wanted, context.device.budget, poison).begin;
  if (wanted.onDevice()) {
    markFresh(begin, begin + bytes);
  } else {
    markWritten(begin, begin + bytes);
  }
  return begin;
}

/// Waits for all work first, as the vendor's driver does: the memory may be in use.
void release(Context& context, uint64_t begin, Allocation::Kind first, Allocation::Kind second) {
  auto found = allocations().find(begin);
  require(found && found->begin == begin && (found->kind == first || found->kind == second));
  context.synchronize();
  allocations().free(begin, device(found->device).budget, [&](const Allocation& allocation) {
    return allocation.kind == first || allocation.kind == second;
  });
  markWritten(begin, begin + found->bytes);
}

}  // namespace

// Device memory

SOFTWARE_GPU_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(address);
    refuseWhileCapturing();
    *address = allocate(context, bytes, Allocation::Kind::Device);
  });
}

SOFTWARE_GPU_API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width,
                                             size_t height, unsigned elementBytes) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(address && pitch && width && height);
    require(elementBytes == 4 || elementBytes == 8 || elementBytes == 16);
    require(width < uint64_t(1) << 40 && height < uint64_t(1) << 24, CUDA_ERROR_OUT_OF_MEMORY);
    refuseWhileCapturing();
    const uint64_t aligned = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    *address = allocate(context, aligned * height, Allocation::Kind::Device);
    *pitch = aligned;
  });
}

SOFTWARE_GPU_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(address && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
    refuseWhileCapturing();
    *address = allocate(context, bytes, Allocation::Kind::Managed, flags);
  });
}

SOFTWARE_GPU_API CUresult cuMemFree_v2(CUdeviceptr address) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    if (address == 0) return;
    refuseWhileCapturing();
    release(context, address, Allocation::Kind::Device, Allocation::Kind::Managed);
  });
}

SOFTWARE_GPU_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    if (free) *free = context.device.budget.free();
    if (total) *total = context.device.budget.total();
  });
}

SOFTWARE_GPU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes,
                                                  CUdeviceptr address) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    uint64_t base = 0, size = 0;
    uint32_t owner = 0;
    if (auto found = allocations().find(address)) {
      base = found->begin;
      size = found->bytes;
    } else {
      require(virtualMemory().mappingAt(address, base, size, owner), CUDA_ERROR_NOT_FOUND);
    }
    if (begin) *begin = base;
    if (bytes) *bytes = size;
  });
}

// Host memory

SOFTWARE_GPU_API CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                               CU_MEMHOSTALLOC_WRITECOMBINED;
    require(memory && (flags & ~known) == 0);
    refuseWhileCapturing();
    *memory = reinterpret_cast<void*>(
        allocate(context, bytes, Allocation::Kind::Host, flags | CU_MEMHOSTALLOC_DEVICEMAP));
  });
}

SOFTWARE_GPU_API CUresult cuMemAllocHost_v2(void** memory, size_t bytes) {
  return cuMemHostAlloc(memory, bytes, 0);
}

SOFTWARE_GPU_API CUresult cuMemFreeHost(void* memory) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    refuseWhileCapturing();
    release(context, reinterpret_cast<uint64_t>(memory), Allocation::Kind::Host,
            Allocation::Kind::Host);
  });
}

SOFTWARE_GPU_API CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    constexpr unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    require(memory && bytes && (flags & ~known) == 0);
    refuseWhileCapturing();
    const uint64_t begin = reinterpret_cast<uint64_t>(memory);
    require(!allocations().overlaps(begin, begin + bytes),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    allocate(context, bytes, Allocation::Kind::Registered, flags | CU_MEMHOSTALLOC_DEVICEMAP,
             memory);
  });
}

SOFTWARE_GPU_API CUresult cuMemHostUnregister(void* memory) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    refuseWhileCapturing();
    const uint64_t begin = reinterpret_cast<uint64_t>(memory);
    auto found = allocations().find(begin);
    require(found && found->begin == begin && found->kind == Allocation::Kind::Registered,
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    release(context, begin, Allocation::Kind::Registered, Allocation::Kind::Registered);
  });
}

SOFTWARE_GPU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory,
                                                       unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(address && flags == 0);
    auto found = allocations().find(reinterpret_cast<uint64_t>(memory));
    require(found && !found->onDevice());
    *address = reinterpret_cast<CUdeviceptr>(memory);
  });
}

SOFTWARE_GPU_API CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(flags);
    auto found = allocations().find(reinterpret_cast<uint64_t>(memory));
    require(found && !found->onDevice());
    *flags = found->flags;
  });
}
