/// Memory that was freed while a kernel or copy that runs may still hold its address: whoever comes
/// later is refused by the address space, and the bytes go once the last of them has ended. So a
/// program that frees too early gets an error, not a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>

namespace sgpu {

class Retired {
 public:
  /// Something begins that will touch memory.
  /// @returns What `leave` wants
  uint64_t enter();
  void leave(uint64_t ticket);
  /// Gives memory back as soon as nothing can hold its address.
  /// @param mapped Bytes of an `mmap`; 0 for what `free` takes
  void retire(void* memory, size_t mapped);

 private:
  struct Item {
    void* memory;
    size_t mapped;
    uint64_t tickets;  ///< given out when it was retired
  };
  void releaseOld();

  std::mutex mutex_;
  std::set<uint64_t> running_;
  std::deque<Item> items_;
  uint64_t tickets_ = 0;
};

Retired& retired();

}  // namespace sgpu
