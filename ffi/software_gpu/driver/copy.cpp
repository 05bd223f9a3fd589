#include "copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "../execute/fault.h"
#include "../memory/address_space.h"
#include "../memory/allocations.h"
#include "../memory/shadow.h"
#include "../memory/virtual_memory.h"
#include "counters.h"
#include "options.h"
#include "progress.h"

namespace sgpu {
namespace {

uint8_t* bytesAt(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

/// The end of the last row.
uint64_t endOf(const Box& box, const Extent& extent) {
  return box.begin + (extent.depth - 1) * box.slice + (extent.height - 1) * box.pitch +
         extent.width;
}

bool isAccessible(const Box& box, const Extent& extent, bool write) {
  if (extent.bytes() == 0) return true;
  if (box.side == Side::Host) return box.begin != 0;
  Range range;
  if (!addressSpace().find(box.begin, endOf(box, extent), range)) return false;
  return write ? range.writable : range.readable;
}

/// The vendor's driver would report it as a fault of the device.
void requireStill(const Box& box, const Extent& extent, bool write, const char* what) {
  if (isAccessible(box, extent, write)) return;
  Fault fault{kIllegalAddress, {}, box.begin, {}, 0, {}, {}, -1};
  fault.what = std::string(what) + " of " + std::to_string(extent.bytes()) +
               " bytes that were no longer there when its turn came, " +
               addressSpace().describe(box.begin);
  fault.kernel = what;
  throw fault;
}

template <class Row>
void forRows(const Extent& extent, Row row) {
  for (uint64_t z = 0; z < extent.depth; z++) {
    for (uint64_t y = 0; y < extent.height; y++) row(y, z);
  }
}

uint64_t rowOf(const Box& box, uint64_t y, uint64_t z) {
  return box.begin + y * box.pitch + z * box.slice;
}

/// Adversarial: the destination holds garbage for a while, and the source is read late.
void delay(const Box& to, const Extent& extent) {
  static std::atomic<uint64_t> copies{0};
  forRows(extent, [&](uint64_t y, uint64_t z) {
    std::memset(bytesAt(rowOf(to, y, z)), 0xff, extent.width);
  });
  uint64_t random = options().adversarialSeed + 0x9e3779b97f4a7c15u * ++copies;
  random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
  const std::chrono::microseconds late(random >> 32 & 0x1ff);
  progress().waitUntil(std::chrono::steady_clock::now() + late, isPointless);
}

bool overlap(const Copy& copy) {
  return copy.to.begin < endOf(copy.from, copy.extent) &&
         copy.from.begin < endOf(copy.to, copy.extent);
}

}  // namespace

Copy::Copy(const Box& to, const Box& from, const Extent& extent)
    : to(to), from(from), extent(extent) {
  require(isAccessible(to, extent, true) && isAccessible(from, extent, false));
}

void Copy::execute(Stream&) const {
  if (extent.bytes() == 0) return;
  requireStill(to, extent, true, "a copy to the device");
  requireStill(from, extent, false, "a copy from the device");
  if (options().adversarialSeed && !overlap(*this)) delay(to, extent);
  forRows(extent, [&](uint64_t y, uint64_t z) {
    const uint64_t target = rowOf(to, y, z), source = rowOf(from, y, z);
    if (options().checkUninitialised && from.side == Side::Device && to.side == Side::Host) {
      const uint64_t unwritten = firstUnwritten(source, source + extent.width);
      if (unwritten < source + extent.width) {
        Fault fault{kLaunchFailed, {}, unwritten, "a copy to the host", 0, {}, {}, -1};
        fault.what = "byte " + std::to_string(unwritten - source) + " of " +
                     std::to_string(extent.width) + " was never written";
        throw fault;
      }
    }
    std::memmove(bytesAt(target), bytesAt(source), extent.width);
    if (options().checkUninitialised) markWritten(target, target + extent.width);
  });
  if (to.side == from.side) return;
  auto& counter = to.side == Side::Device ? counters().bytesToDevice : counters().bytesToHost;
  counter.fetch_add(extent.bytes(), std::memory_order_relaxed);
}

Fill::Fill(const Box& to, const Extent& extent, uint32_t value, unsigned elementBytes)
    : to(to), extent(extent), value(value), elementBytes(elementBytes) {
  require(elementBytes == 1 || elementBytes == 2 || elementBytes == 4);
  require(to.begin % elementBytes == 0 && to.pitch % elementBytes == 0);
  require(isAccessible(to, extent, true));
}

void Fill::execute(Stream&) const {
  if (extent.bytes() == 0) return;
  requireStill(to, extent, true, "a fill");
  forRows(extent, [&](uint64_t y, uint64_t z) {
    const uint64_t row = rowOf(to, y, z);
    switch (elementBytes) {
      case 1:
        std::memset(bytesAt(row), static_cast<int>(value & 0xff), extent.width);
        break;
      case 2:
        std::fill_n(reinterpret_cast<uint16_t*>(row), extent.width / 2,
                    static_cast<uint16_t>(value));
        break;
      default:
        std::fill_n(reinterpret_cast<uint32_t*>(row), extent.width / 4, value);
    }
    if (options().checkUninitialised) markWritten(row, row + extent.width);
  });
}

Side sideOf(uint64_t address) {
  if (auto allocation = allocations().find(address)) {
    return allocation->onDevice() ? Side::Device : Side::Host;
  }
  uint64_t begin = 0, bytes = 0;
  uint32_t device = 0;
  return virtualMemory().mappingAt(address, begin, bytes, device) ? Side::Device : Side::Host;
}

std::shared_ptr<const Copy> copyOf(const CUDA_MEMCPY3D& params) {
  auto box = [](CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch,
                size_t height, size_t x, size_t y, size_t z) {
    require(type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED);
    require(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
            type == CU_MEMORYTYPE_UNIFIED);
    Box made;
    made.begin = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
    made.side = type == CU_MEMORYTYPE_HOST     ? Side::Host
                : type == CU_MEMORYTYPE_DEVICE ? Side::Device
                                               : sideOf(device);
    made.pitch = pitch;
    made.slice = pitch * height;
    made.begin += x + y * made.pitch + z * made.slice;
    return made;
  };
  const Extent extent{params.WidthInBytes, params.Height, params.Depth};
  const Box to = box(params.dstMemoryType, params.dstHost, params.dstDevice, params.dstPitch,
                     params.dstHeight, params.dstXInBytes, params.dstY, params.dstZ);
  const Box from = box(params.srcMemoryType, params.srcHost, params.srcDevice, params.srcPitch,
                       params.srcHeight, params.srcXInBytes, params.srcY, params.srcZ);
  require(params.srcLOD == 0 && params.dstLOD == 0);
  if (extent.height > 1 || extent.depth > 1) {
    require(to.pitch >= extent.width && from.pitch >= extent.width);
  }
  if (extent.depth > 1) {
    require(params.dstHeight >= extent.height && params.srcHeight >= extent.height);
  }
  return std::make_shared<Copy>(to, from, extent);
}

CUDA_MEMCPY3D describe(const Copy& copy) {
  CUDA_MEMCPY3D params{};
  params.WidthInBytes = copy.extent.width;
  params.Height = copy.extent.height;
  params.Depth = copy.extent.depth;
  params.dstPitch = copy.to.pitch;
  params.srcPitch = copy.from.pitch;
  params.dstHeight = copy.to.pitch ? copy.to.slice / copy.to.pitch : 0;
  params.srcHeight = copy.from.pitch ? copy.from.slice / copy.from.pitch : 0;
  if (copy.to.side == Side::Host) {
    params.dstMemoryType = CU_MEMORYTYPE_HOST;
    params.dstHost = bytesAt(copy.to.begin);
  } else {
    params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.dstDevice = copy.to.begin;
  }
  if (copy.from.side == Side::Host) {
    params.srcMemoryType = CU_MEMORYTYPE_HOST;
    params.srcHost = bytesAt(copy.from.begin);
  } else {
    params.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = copy.from.begin;
  }
  return params;
}

}  // namespace sgpu
