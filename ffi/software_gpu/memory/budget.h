/// How much physical memory a device has, and how much of it is taken.
#pragma once

#include <cstdint>
#include <mutex>

#include "../failure.h"

namespace sgpu {

class Budget {
 public:
  void configure(uint64_t total, uint64_t largestFreeBlock) {
    std::lock_guard lock(mutex_);
    total_ = total;
    largestFreeBlock_ = largestFreeBlock;
  }
  /// @throws Failure when there is not so much, or (fragmentation) not in one piece
  void take(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    require(bytes <= total_ && used_ <= total_ - bytes, kOutOfMemory);
    require(largestFreeBlock_ == 0 || bytes <= largestFreeBlock_, kOutOfMemory);
    used_ += bytes;
  }
  void give(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  uint64_t total() const {
    std::lock_guard lock(mutex_);
    return total_;
  }
  uint64_t free() const {
    std::lock_guard lock(mutex_);
    return used_ < total_ ? total_ - used_ : 0;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t total_ = 0, used_ = 0;
  uint64_t largestFreeBlock_ = 0;  // 0: no bound
};

}  // namespace sgpu
