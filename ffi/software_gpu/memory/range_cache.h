/// The ranges that a block's accesses fell into last, so that nearly all of them take no lock.
#pragma once

#include <cstdint>

#include "address_space.h"

namespace sgpu {

class RangeCache {
 public:
  /// Whether one range holds all of [begin, end) and allows the access.
  bool allows(uint64_t begin, uint64_t end, bool write) {
    const AddressSpace& space = addressSpace();
    const uint32_t now = space.generation();
    if (now != generation_) {
      for (Range& range : ranges_) range = Range();
      generation_ = now;
    }
    for (const Range& range : ranges_) {
      if (begin >= range.begin && end <= range.end) {
        return begin <= end && (write ? range.writable : range.readable);
      }
    }
    Range found;
    if (begin > end || !space.find(begin, end, found)) return false;
    ranges_[next_++ % kRanges] = found;
    return write ? found.writable : found.readable;
  }

 private:
  static constexpr unsigned kRanges = 8;  // the arrays of a typical kernel
  uint32_t generation_ = 0;
  unsigned next_ = 0;
  Range ranges_[kRanges];
};

}  // namespace sgpu
