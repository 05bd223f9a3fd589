#include "device.h"

#include <cstdio>
#include <cstring>

#include "entry.h"
#include "options.h"
#include "sticky.h"

namespace sgpu {
namespace {

constexpr int kDriverVersion = 13000;

struct Attribute {
  int code;
  int value;
};

/// What does not depend on options. Absent means: not an attribute of this driver.
constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, Limits::threadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, Limits::blockX},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, Limits::blockY},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, Limits::blockZ},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, Limits::gridX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, Limits::gridY},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, Limits::gridZ},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, Limits::sharedPerBlock},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, Limits::registersPerBlock},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, Limits::multiprocessors},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, Limits::threadsPerMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, Limits::registersPerBlock},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, Limits::blocksPerMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, Limits::sharedReserved},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
};

unsigned capability() { return static_cast<unsigned>(options().computeCapability.load()); }

}  // namespace

Device& device(uint32_t ordinal) {
  static Device* const devices = [] {
    auto* all = new Device[kMaxDevices];
    for (uint32_t i = 0; i < kMaxDevices; i++) {
      all[i].ordinal = i;
      all[i].budget.configure(options().memoryBytes, options().largestFreeBlock);
    }
    return all;
  }();
  return devices[ordinal];
}

Device& offeredDevice(CUdevice ordinal) {
  require(ordinal >= 0 && static_cast<uint64_t>(ordinal) < options().deviceCount,
          CUDA_ERROR_INVALID_DEVICE);
  return device(static_cast<uint32_t>(ordinal));
}

uint32_t Limits::sharedPerMultiprocessor() {
  switch (capability()) {
    case 75: return 64 << 10;
    case 80: case 87: return 164 << 10;
    case 90: case 100: case 103: return 228 << 10;
    default: return 100 << 10;
  }
}

uint32_t Limits::sharedPerBlockOptIn() {
  return sharedPerMultiprocessor() - (capability() == 75 ? 0 : sharedReserved);
}

int deviceAttribute(CUdevice ordinal, CUdevice_attribute attribute) {
  offeredDevice(ordinal);
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return static_cast<int>(capability() / 10);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return static_cast<int>(capability() % 10);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return ordinal + 1;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return static_cast<int>(Limits::sharedPerMultiprocessor());
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return static_cast<int>(Limits::sharedPerBlockOptIn());
    default:
      break;
  }
  for (const Attribute& known : kAttributes) {
    if (known.code == static_cast<int>(attribute)) return known.value;
  }
  // An attribute that the vendor knows and this device has nothing of.
  require(attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
  return 0;
}

}  // namespace sgpu

using namespace sgpu;

SOFTWARE_GPU_API CUresult cuInit(unsigned flags) {
  static Entry entry(__func__);
  return entry.always([&] {
    require(flags == 0);
    if (const int code = stickyCode()) fail(code);
    if (isInitialised()) return;
    configureFromEnvironment();
    require(options().deviceCount != 0, CUDA_ERROR_NO_DEVICE);
    setInitialised(true);
  });
}

SOFTWARE_GPU_API CUresult cuDriverGetVersion(int* version) {
  static Entry entry(__func__);
  return entry.always([&] {
    require(version);
    *version = kDriverVersion;
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetCount(int* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(count);
    *count = static_cast<int>(options().deviceCount);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(device);
    *device = static_cast<CUdevice>(offeredDevice(ordinal).ordinal);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(name && length > 0);
    offeredDevice(ordinal);
    std::snprintf(name, static_cast<size_t>(length), "Software GPU (compute %u.%u)",
                  capability() / 10, capability() % 10);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(uuid);
    std::memcpy(uuid->bytes, "\x53\x6f\x66\x74\x77\x61\x72\x65\x2d\x47\x50\x55\x00\x00\x00", 15);
    uuid->bytes[15] = static_cast<char>(offeredDevice(ordinal).ordinal);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}

SOFTWARE_GPU_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(bytes);
    *bytes = offeredDevice(ordinal).budget.total();
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                               CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(value);
    *value = deviceAttribute(ordinal, attribute);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(major && minor);
    offeredDevice(ordinal);
    *major = static_cast<int>(capability() / 10);
    *minor = static_cast<int>(capability() % 10);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice ordinal) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(id && length >= 13);
    std::snprintf(id, static_cast<size_t>(length), "0000:%02X:00.0",
                  offeredDevice(ordinal).ordinal + 1);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(device && id);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    const bool isLong = std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;
    if (!isLong) {
      domain = 0;
      require(std::sscanf(id, "%x:%x.%x", &bus, &slot, &function) == 3);
    }
    require(domain == 0 && slot == 0 && function == 0 && bus >= 1 && bus <= options().deviceCount,
            CUDA_ERROR_INVALID_DEVICE);
    *device = static_cast<CUdevice>(bus - 1);
  });
}

SOFTWARE_GPU_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice first, CUdevice second) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(can);
    offeredDevice(first);
    offeredDevice(second);
    *can = 0;
  });
}
