/// All memory that the device and its host may touch by address: allocations, mapped chunks, pinned
/// host memory, module variables. A device pointer is the host address of the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <string>
#include <vector>

namespace sgpu {

struct Range {
  uint64_t begin = 0, end = 0;
  bool readable = true, writable = true;  ///< by kernels and copies
  uint64_t serial = 0;                    ///< in order of creation, for messages; 0 asks for one
};

class AddressSpace {
 public:
  /// Changes with every addition and removal: what a warp has cached is then void.
  uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// The range that holds all of [begin, end). Neighbouring mapped chunks of one reservation are
  /// one range.
  bool find(uint64_t begin, uint64_t end, Range& found) const;
  /// In the place of whatever was there, at once. Joins the range with neighbours of the same serial
  /// and rights, so that a reservation whose chunks share a serial is one range wherever it is mapped
  /// without a gap.
  void add(const Range& range);
  /// What lies in [begin, end) is no longer there; ranges that reach beyond are cut.
  void remove(uint64_t begin, uint64_t end);
  /// A serial for ranges that shall join.
  uint64_t newSerial();
  /// Reserved addresses: only `describe` wants to know.
  void addReservation(uint64_t begin, uint64_t end);
  void removeReservation(uint64_t begin);
  /// Where an address that no range holds lies: `64 bytes behind the end of an allocation of 1024`,
  /// `in an allocation that was freed`, `in an address range that is reserved and not mapped`.
  std::string describe(uint64_t address) const;

 private:
  using Ranges = std::map<uint64_t, Range>;
  Ranges::const_iterator at(uint64_t address) const;
  /// Takes [begin, end) out of all ranges and returns what was there.
  std::vector<Range> cut(uint64_t begin, uint64_t end);

  mutable std::shared_mutex mutex_;
  Ranges ranges_;                             // by begin
  std::deque<Range> freed_;                   // the last ones, for messages
  std::map<uint64_t, uint64_t> reservations_; // begin to end
  std::atomic<uint32_t> generation_{1};
  uint64_t serials_ = 0;
};

AddressSpace& addressSpace();

}  // namespace sgpu
