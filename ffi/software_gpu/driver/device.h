/// The devices of the process, which differ in number only.
#pragma once

#include <memory>
#include <mutex>

#include "../memory/budget.h"
#include "api.h"

namespace sgpu {

struct Context;

struct Device {
  uint32_t ordinal = 0;
  Budget budget;
  std::mutex mutex;                  ///< of what follows
  std::shared_ptr<Context> primary;  ///< while somebody retains it
  uint64_t retains = 0;
  unsigned primaryFlags = 0;
};

/// Whether it is offered or not: option `deviceCount` says how many are.
Device& device(uint32_t ordinal);
/// @throws Failure 101
Device& offeredDevice(CUdevice ordinal);
/// @throws Failure 101 or 1
int deviceAttribute(CUdevice ordinal, CUdevice_attribute attribute);

/// Limits of the modelled card, an A100: what launches are checked against and attributes tell.
struct Limits {
  static constexpr uint32_t threadsPerBlock = 1024;
  static constexpr uint32_t blockX = 1024, blockY = 1024, blockZ = 64;
  static constexpr uint32_t gridX = 0x7fffffff, gridY = 65535, gridZ = 65535;
  static constexpr uint32_t registersPerBlock = 65536;
  static constexpr uint32_t sharedPerBlock = 48 << 10;
  static constexpr uint32_t sharedReserved = 1 << 10;
  static constexpr uint32_t multiprocessors = 8;
  static constexpr uint32_t threadsPerMultiprocessor = 2048;
  static constexpr uint32_t blocksPerMultiprocessor = 32;
  /// With opt-in, and of a multiprocessor: by compute capability.
  static uint32_t sharedPerBlockOptIn();
  static uint32_t sharedPerMultiprocessor();
};

}  // namespace sgpu
