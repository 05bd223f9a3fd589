/// All memory that the device and its host may touch by address: allocations, mapped chunks, pinned
/// host memory, module variables. A device pointer is the host address of the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>

namespace sgpu {

struct Range {
  uint64_t begin = 0, end = 0;
  bool readable = true, writable = true;  ///< by kernels and copies
  uint64_t serial = 0;                    ///< in order of creation, for messages
};

class AddressSpace {
 public:
  /// Changes with every addition and removal: what a warp has cached is then void.
  uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// The range that holds all of [begin, end). Neighbouring mapped chunks of one reservation are
  /// one range.
  bool find(uint64_t begin, uint64_t end, Range& found) const;
  void add(const Range& range);
  void remove(uint64_t begin, uint64_t end);
  /// Where an address that no range holds lies: `64 bytes behind the end of an allocation of 1024`,
  /// `in an allocation that was freed`, `in an address range that is reserved and not mapped`.
  std::string describe(uint64_t address) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Range> ranges_;   // by begin
  std::map<uint64_t, Range> freed_;    // the last ones, for messages
  std::atomic<uint32_t> generation_{1};
  uint64_t serials_ = 0;
};

AddressSpace& addressSpace();

}  // namespace sgpu
