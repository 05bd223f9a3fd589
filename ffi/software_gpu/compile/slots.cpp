#include "slots.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>

#include "../execute/op.h"

namespace sgpu {

namespace {

enum Kind : unsigned { Predicate, Narrow, Wide, Widest, kKinds };

Kind kindOf(ptx::Type type) {
  unsigned bits = ptx::bitsOf(type);
  return bits == 1 ? Predicate : bits <= 32 ? Narrow : bits == 64 ? Wide : Widest;
}

}  // namespace

SlotMap allocateSlots(const ptx::Function& function, const std::vector<Interval>& intervals) {
  SlotMap map;
  map.slots.assign(function.registers.size(), kNoSlot);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < intervals.size(); i++) {
    bool mentioned = intervals[i].begin <= intervals[i].end;
    if (mentioned && !function.registers[i].special) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(intervals[a].begin, a) < std::pair(intervals[b].begin, b);
  });
  using Ending = std::pair<uint32_t, uint32_t>;  // where, and of which register
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  // The slot that was freed last is taken first: it is in the cache.
  std::array<std::vector<uint32_t>, kKinds> free;
  for (uint32_t index : order) {
    while (!live.empty() && live.top().first < intervals[index].begin) {
      uint32_t ended = live.top().second;
      live.pop();
      free[kindOf(function.registers[ended].type)].push_back(map.slots[ended]);
    }
    ptx::Type type = function.registers[index].type;
    std::vector<uint32_t>& pool = free[kindOf(type)];
    if (!pool.empty()) {
      map.slots[index] = pool.back();
      pool.pop_back();
    } else if (type == ptx::Type::Pred) {
      map.slots[index] = map.predicates++;
    } else {
      map.slots[index] = map.bytes;
      map.bytes += slotBytes(ptx::bitsOf(type));
    }
    live.emplace(intervals[index].end, index);
  }
  return map;
}

}  // namespace sgpu
