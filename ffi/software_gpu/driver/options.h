/// What can be set from outside, by `softwareGpuConfigure` or the environment.
#pragma once

#include <atomic>
#include <cstdint>

#include "../execute/launch.h"

namespace sgpu {

struct Options {
  std::atomic<uint64_t> memoryBytes{uint64_t(4) << 30};  ///< of each device
  std::atomic<uint64_t> largestFreeBlock{0};             ///< fragmentation; 0: none
  std::atomic<uint64_t> deviceCount{1};
  std::atomic<uint64_t> computeCapability{80};
  std::atomic<uint64_t> threads{1};                      ///< that run blocks
  std::atomic<uint64_t> instructionBudget{0};
  std::atomic<uint64_t> adversarialSeed{0};
  std::atomic<uint64_t> checkUninitialised{0};
  std::atomic<uint64_t> checkRaces{0};
  std::atomic<uint64_t> timed{0};                        ///< kernels take what the table says
  std::atomic<uint64_t> skipArithmetic{0};               ///< timed: and do nothing else
  std::atomic<uint64_t> defaultKernelNanos{0};           ///< of kernels that the table lacks

  ExecutionOptions forLaunch() const;
};

Options& options();

/// @returns Whether there is such an option and it takes this value.
bool configure(const char* name, uint64_t value);
/// Reads SOFTWARE_GPU_MEMORY, _THREADS, _CHECKS and _SEED.
/// @throws Failure 1 when one of them says nothing sensible
void configureFromEnvironment();
void resetOptions();

constexpr uint32_t kMaxDevices = 16;

}  // namespace sgpu
