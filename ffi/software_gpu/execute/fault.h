/// Why a kernel cannot go on.
#pragma once

#include <cstdint>
#include <string>

namespace sgpu {

/// Thrown by handlers; becomes the sticky error of the whole process.
struct Fault {
  int code;              ///< a `CUresult`: 700 address, 716 alignment, 702 time, 719 anything else
  std::string what;      ///< e.g. `read of 4 bytes behind the end of an allocation of 1024`
  uint64_t address = 0;
  // Filled in where the fault is caught, outwards:
  std::string kernel{};
  uint32_t line = 0;     ///< of the PTX text
  uint32_t block[3] = {0, 0, 0};
  uint32_t thread[3] = {0, 0, 0};
  int lane = -1;         ///< of the warp, -1 when it concerns all

  /// One sentence with all of the above.
  std::string message() const;
};

enum FaultCode : int {
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidProgramCounter = 718,
  kLaunchFailed = 719,
};

}  // namespace sgpu
