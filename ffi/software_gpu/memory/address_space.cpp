#include "address_space.h"

#include <algorithm>
#include <mutex>

namespace sgpu {
namespace {

constexpr size_t kRememberedFrees = 256;
/// An address further away than this belongs to no allocation in particular.
constexpr uint64_t kNear = 1 << 20;

std::string bytes(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

AddressSpace& addressSpace() {
  // Never destroyed: kernels may still run while the process ends.
  static AddressSpace& space = *new AddressSpace;
  return space;
}

AddressSpace::Ranges::const_iterator AddressSpace::at(uint64_t address) const {
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return ranges_.end();
  auto range = std::prev(next);
  return address < range->second.end ? range : ranges_.end();
}

bool AddressSpace::find(uint64_t begin, uint64_t end, Range& found) const {
  std::shared_lock lock(mutex_);
  auto range = at(begin);
  if (range == ranges_.end() || end < begin || range->second.end < end) return false;
  found = range->second;
  return true;
}

void AddressSpace::add(const Range& added) {
  std::unique_lock lock(mutex_);
  Range range = added;
  if (range.serial == 0) range.serial = ++serials_;
  cut(range.begin, range.end);
  auto joins = [&](const Range& other) {
    return other.serial == range.serial && other.readable == range.readable &&
           other.writable == range.writable;
  };
  auto next = ranges_.lower_bound(range.begin);
  if (next != ranges_.end() && next->first == range.end && joins(next->second)) {
    range.end = next->second.end;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    auto previous = std::prev(next);
    if (previous->second.end == range.begin && joins(previous->second)) {
      range.begin = previous->first;
      ranges_.erase(previous);
    }
  }
  ranges_[range.begin] = range;
  generation_.fetch_add(1, std::memory_order_release);
}

void AddressSpace::remove(uint64_t begin, uint64_t end) {
  std::unique_lock lock(mutex_);
  for (const Range& gone : cut(begin, end)) {
    freed_.push_back(gone);
    if (freed_.size() > kRememberedFrees) freed_.pop_front();
  }
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<Range> AddressSpace::cut(uint64_t begin, uint64_t end) {
  std::vector<Range> gone;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first < end) {
    const Range range = it->second;
    if (range.end <= begin) {
      ++it;
      continue;
    }
    it = ranges_.erase(it);
    Range before = range, inside = range, after = range;
    before.end = inside.begin = std::max(range.begin, begin);
    after.begin = inside.end = std::min(range.end, end);
    if (before.begin < before.end) ranges_[before.begin] = before;
    if (after.begin < after.end) ranges_[after.begin] = after;
    gone.push_back(inside);
  }
  return gone;
}

uint64_t AddressSpace::newSerial() {
  std::unique_lock lock(mutex_);
  return ++serials_;
}

void AddressSpace::addReservation(uint64_t begin, uint64_t end) {
  std::unique_lock lock(mutex_);
  reservations_[begin] = end;
}

void AddressSpace::removeReservation(uint64_t begin) {
  std::unique_lock lock(mutex_);
  reservations_.erase(begin);
}

std::string AddressSpace::describe(uint64_t address) const {
  std::shared_lock lock(mutex_);
  if (auto range = at(address); range != ranges_.end()) {
    return "in an allocation of " + bytes(range->second.end - range->first);
  }
  auto reservation = reservations_.upper_bound(address);
  if (reservation != reservations_.begin() && address < std::prev(reservation)->second) {
    return "in an address range that is reserved and not mapped";
  }
  for (auto range = freed_.rbegin(); range != freed_.rend(); ++range) {
    if (range->begin <= address && address < range->end) {
      return "in an allocation of " + bytes(range->end - range->begin) + " that was freed";
    }
  }
  auto next = ranges_.upper_bound(address);
  if (next != ranges_.begin()) {
    const Range& range = std::prev(next)->second;
    if (address - range.end < kNear) {
      return bytes(address - range.end) + " behind the end of an allocation of " +
             std::to_string(range.end - range.begin);
    }
  }
  if (next != ranges_.end() && next->first - address < kNear) {
    return bytes(next->first - address) + " before an allocation of " +
           std::to_string(next->second.end - next->first);
  }
  return "in no allocation";
}

}  // namespace sgpu
