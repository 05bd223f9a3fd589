/// What tests have said about kernels by name: their cost in timed mode, and which launch is late.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace sgpu {

class KernelTable {
 public:
  void setCost(const std::string& kernel, uint64_t nanos);
  /// @param nth Of the launches to come, from 1
  void delay(const std::string& kernel, uint64_t nth, uint64_t nanos);
  /// @returns The cost that was set, or `otherwise`
  uint64_t cost(const std::string& kernel, uint64_t otherwise) const;
  /// Counts a launch.
  /// @returns How long it is late; UINT64_MAX for ever
  uint64_t takeDelay(const std::string& kernel);
  void clear();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> costs_;
  std::map<std::string, std::map<uint64_t, uint64_t>> delays_;  ///< launches still to go, to nanos
};

KernelTable& kernelTable();

}  // namespace sgpu
