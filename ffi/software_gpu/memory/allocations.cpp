#include "allocations.h"

#include <cstdlib>
#include <cstring>

#include "address_space.h"
#include "retired.h"

namespace sgpu {
namespace {

/// What the vendor's allocator aligns to, and what small allocations cost at least.
constexpr uint64_t kAlignment = 512;
/// Host memory is given out in pages, as pinning works on pages.
constexpr uint64_t kPage = 4096;

uint64_t roundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Allocations& allocations() {
  static Allocations& all = *new Allocations;
  return all;
}

Allocation Allocations::make(Allocation made, Budget& budget, bool poison) {
  require(made.bytes != 0);
  require(made.bytes < uint64_t(1) << 46, kOutOfMemory);
  const uint64_t step = made.onDevice() ? kAlignment : kPage;
  made.taken = made.onDevice() ? roundUp(made.bytes, step) : 0;
  if (made.taken) budget.take(made.taken);
  if (made.kind != Allocation::Kind::Registered) {
    // One step more than asked for: neighbours are never adjacent, so that running over the end of
    // one does not silently arrive in the next.
    void* memory = std::aligned_alloc(step, roundUp(made.bytes, step) + step);
    if (!memory) {
      budget.give(made.taken);
      fail(kOutOfMemory);
    }
    if (poison) std::memset(memory, 0xff, made.bytes);
    made.begin = reinterpret_cast<uint64_t>(memory);
  }
  std::lock_guard lock(mutex_);
  made.id = ++ids_;
  byBegin_[made.begin] = made;
  Range range;
  range.begin = made.begin;
  range.end = made.begin + made.bytes;
  addressSpace().add(range);
  return made;
}

Allocations::Map::iterator Allocations::drop(Map::iterator it, Budget& budget) {
  const Allocation& gone = it->second;
  addressSpace().remove(gone.begin, gone.begin + gone.bytes);
  if (gone.taken) budget.give(gone.taken);
  if (gone.kind != Allocation::Kind::Registered) {
    retired().retire(reinterpret_cast<void*>(gone.begin), 0);
  }
  return byBegin_.erase(it);
}

void Allocations::freeAllOf(uint64_t context, Budget& budget) {
  std::lock_guard lock(mutex_);
  for (auto it = byBegin_.begin(); it != byBegin_.end();) {
    it = it->second.context == context ? drop(it, budget) : std::next(it);
  }
}

std::optional<Allocation> Allocations::find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto next = byBegin_.upper_bound(address);
  if (next == byBegin_.begin()) return std::nullopt;
  const Allocation& found = std::prev(next)->second;
  if (address >= found.begin + found.bytes) return std::nullopt;
  return found;
}

bool Allocations::overlaps(uint64_t begin, uint64_t end) const {
  std::lock_guard lock(mutex_);
  auto next = byBegin_.lower_bound(end);
  if (next == byBegin_.begin()) return false;
  const Allocation& last = std::prev(next)->second;
  return last.begin + last.bytes > begin;
}

uint64_t Allocations::count() const {
  std::lock_guard lock(mutex_);
  return byBegin_.size();
}

uint64_t Allocations::liveBytes() const {
  std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [begin, allocation] : byBegin_) {
    if (allocation.onDevice()) sum += allocation.bytes;
  }
  return sum;
}

}  // namespace sgpu
