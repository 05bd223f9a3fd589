/// What tests may count. Calls by name are with the entries.
#pragma once

#include <atomic>
#include <cstdint>

namespace sgpu {

struct Counters {
  std::atomic<uint64_t> launches{0};       ///< kernels that ran, in graphs too
  std::atomic<uint64_t> bytesToDevice{0};  ///< by copies from the host
  std::atomic<uint64_t> bytesToHost{0};
  std::atomic<uint64_t> bytesRead{0};      ///< of global memory, by kernels
  std::atomic<uint64_t> bytesWritten{0};
  std::atomic<uint64_t> instructions{0};   ///< of warps

  void reset() {
    launches = bytesToDevice = bytesToHost = bytesRead = bytesWritten = instructions = 0;
  }
};

inline Counters& counters() {
  static Counters& all = *new Counters;
  return all;
}

}  // namespace sgpu
