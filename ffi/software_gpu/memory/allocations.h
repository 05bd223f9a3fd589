/// Memory that was allocated as such: on the device, in pinned host memory, for a module's variables.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "budget.h"

namespace sgpu {

struct Allocation {
  enum class Kind : uint8_t { Device, Managed, Host, Registered, Module };
  Kind kind = Kind::Device;
  uint64_t begin = 0;
  uint64_t bytes = 0;      ///< as asked for; what accesses are checked against
  uint64_t taken = 0;      ///< of the budget
  uint32_t device = 0;
  uint64_t context = 0;    ///< handle of the one it was made in
  uint32_t flags = 0;
  uint64_t id = 0;         ///< never used twice

  bool onDevice() const { return kind != Kind::Host && kind != Kind::Registered; }
};

class Allocations {
 public:
  /// Fills in `begin`, `taken` and `id` of what `wanted` describes; `Registered` memory is the
  /// caller's own.
  /// @param poison Fill it with bytes that read as NaN
  /// @throws Failure 2 when the budget or the machine has no more
  Allocation make(Allocation wanted, Budget& budget, bool poison);
  /// Frees what begins at `begin` if it is of a kind that `accepts`.
  /// @throws Failure 1 when nothing (any more) begins there
  template <class Accepts>
  void free(uint64_t begin, Budget& budget, Accepts accepts) {
    std::lock_guard lock(mutex_);
    auto it = byBegin_.find(begin);
    require(it != byBegin_.end() && accepts(it->second));
    drop(it, budget);
  }
  void freeAllOf(uint64_t context, Budget& budget);
  /// The allocation that an address lies in.
  std::optional<Allocation> find(uint64_t address) const;
  bool overlaps(uint64_t begin, uint64_t end) const;
  uint64_t count() const;
  /// Device bytes as asked for.
  uint64_t liveBytes() const;

 private:
  using Map = std::map<uint64_t, Allocation>;
  Map::iterator drop(Map::iterator it, Budget& budget);

  mutable std::mutex mutex_;
  Map byBegin_;
  uint64_t ids_ = 0;
};

Allocations& allocations();

}  // namespace sgpu
