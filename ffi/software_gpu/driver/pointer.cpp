#include "../memory/allocations.h"
#include "../memory/virtual_memory.h"
#include "entry.h"
#include "handles.h"

using namespace sgpu;

namespace {

template <class T>
void put(void* data, T value) {
  *static_cast<T*>(data) = value;
}

/// What an address is known to belong to.
struct Owner {
  uint64_t begin = 0, bytes = 0, context = 0, id = 0;
  uint32_t device = 0;
  bool onDevice = true, managed = false, mapped = false;
};

bool findOwner(uint64_t address, Owner& owner) {
  if (auto found = allocations().find(address)) {
    owner.begin = found->begin;
    owner.bytes = found->bytes;
    owner.context = found->context;
    owner.id = found->id;
    owner.device = found->device;
    owner.onDevice = found->onDevice();
    owner.managed = found->kind == Allocation::Kind::Managed;
    return true;
  }
  owner.mapped = true;
  return virtualMemory().mappingAt(address, owner.begin, owner.bytes, owner.device);
}

void tell(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  require(data);
  Owner owner;
  require(findOwner(address, owner));
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      require(!owner.mapped);
      return put(data, asHandle<CUcontext>(owner.context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(data, owner.onDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(!owner.onDevice || owner.managed);
      return put(data, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put<unsigned long long>(data, owner.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put<unsigned>(data, owner.managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, static_cast<int>(owner.device));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put<CUdeviceptr>(data, owner.begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put<size_t>(data, owner.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put<unsigned>(data, 1);
    default:
      fail(CUDA_ERROR_NOT_SUPPORTED);
  }
}

}  // namespace

SOFTWARE_GPU_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                                CUdeviceptr address) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) { tell(data, attribute, address); });
}

/// Unlike the single form it accepts an address that is nobody's: the memory's type is 0 then.
SOFTWARE_GPU_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                                 void** data, CUdeviceptr address) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(count && attributes && data);
    Owner owner;
    for (unsigned i = 0; i < count; i++) {
      if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) put<unsigned>(data[i], 0);
      if (findOwner(address, owner)) tell(data[i], attributes[i], address);
    }
  });
}
