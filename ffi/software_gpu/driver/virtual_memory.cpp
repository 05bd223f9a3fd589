#include "../memory/virtual_memory.h"

#include "../memory/shadow.h"
#include "device.h"
#include "entry.h"
#include "handles.h"
#include "options.h"

using namespace sgpu;

namespace {

Device& deviceOf(const CUmemAllocationProp* prop) {
  require(prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  require(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  require(prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
  require(prop->allocFlags.usage == 0 && prop->allocFlags.gpuDirectRDMACapable == 0);
  return offeredDevice(prop->location.id);
}

}  // namespace

SOFTWARE_GPU_API CUresult cuMemGetAllocationGranularity(size_t* granularity,
                                                        const CUmemAllocationProp* prop,
                                                        CUmemAllocationGranularity_flags option) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(granularity && (option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                            option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    deviceOf(prop);
    *granularity = kGranularity;
  });
}

SOFTWARE_GPU_API CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment,
                                              CUdeviceptr wanted, unsigned long long flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(address && flags == 0);
    *address = virtualMemory().reserve(bytes, alignment, wanted);
  });
}

SOFTWARE_GPU_API CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  static Entry entry(__func__);
  return entry.withDriver([&] { virtualMemory().unreserve(address, bytes); });
}

SOFTWARE_GPU_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                      const CUmemAllocationProp* prop, unsigned long long flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(handle && flags == 0);
    Device& owner = deviceOf(prop);
    const uint64_t made = newHandle(Kind::Chunk);
    const bool poison = options().adversarialSeed != 0;
    virtualMemory().create(made, bytes, owner.ordinal, owner.budget, poison);
    *handle = made;
  });
}

SOFTWARE_GPU_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] { virtualMemory().release(handle); });
}

SOFTWARE_GPU_API CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                   CUmemGenericAllocationHandle handle, unsigned long long flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(flags == 0);
    if (virtualMemory().map(address, bytes, offset, handle)) {
      markFresh(address, address + bytes);
    } else {
      markWritten(address, address + bytes);
    }
  });
}

SOFTWARE_GPU_API CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    virtualMemory().unmap(address, bytes);
    markWritten(address, address + bytes);
  });
}

SOFTWARE_GPU_API CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                                         const CUmemAccessDesc* access, size_t count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(access && count == 1);
    require(access->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    offeredDevice(access->location.id);
    require(access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
            access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
            access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    virtualMemory().setAccess(address, bytes,
                              {access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE,
                               access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  });
}

SOFTWARE_GPU_API CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                         CUdeviceptr address) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
    offeredDevice(location->id);
    const VirtualMemory::Access access = virtualMemory().accessOf(address);
    *flags = access.writable   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : access.readable ? CU_MEM_ACCESS_FLAGS_PROT_READ
                               : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

SOFTWARE_GPU_API CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(prop);
    *prop = CUmemAllocationProp{};
    prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop->location.id = static_cast<int>(virtualMemory().deviceOf(handle));
  });
}

SOFTWARE_GPU_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                      void* address) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(handle);
    *handle = virtualMemory().retainAt(reinterpret_cast<uint64_t>(address));
  });
}
