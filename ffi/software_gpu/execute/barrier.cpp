#include "barrier.h"

#include "warp.h"

namespace sgpu {
namespace {

uint32_t laneValue(const Op& op, const Warp& warp, unsigned operand, uint32_t mask) {
  const auto* values = reinterpret_cast<const uint32_t*>(warp.registers + op.slots[operand]);
  return values[__builtin_ctz(mask)];
}

/// A warp whose living lanes have all come counts whole: arrivals are counted by warps, and lanes
/// that have exited do not make theirs smaller.
uint32_t arrivals(const Barrier& barrier, const Block& block) {
  uint32_t sum = barrier.again;
  for (const Warp& warp : block.warps) {
    const uint32_t arrived = barrier.arrived[warp.index];
    if (!arrived) continue;
    sum += warp.alive & ~arrived ? __builtin_popcount(arrived) : kWarpLanes;
  }
  return sum;
}

bool isComplete(const Barrier& barrier, const Block& block) {
  if (barrier.expected) return arrivals(barrier, block) >= barrier.expected;
  for (const Warp& warp : block.warps) {
    if (warp.alive & ~barrier.arrived[warp.index]) return false;
  }
  return true;
}

/// Writes a reduction's result for lanes that waited for it.
void writeResult(const Barrier& barrier, const Op& op, const Path& path) {
  const auto kind = static_cast<BarrierKind>(op.variant);
  if (kind == BarrierKind::CountTrue) {
    auto* result = reinterpret_cast<uint32_t*>(path.frame->registers + op.slots[2]);
    for (uint32_t rest = path.mask; rest; rest &= rest - 1) {
      result[__builtin_ctz(rest)] = barrier.trueCount;
    }
  } else if (kind == BarrierKind::AllTrue || kind == BarrierKind::AnyTrue) {
    const bool all = barrier.trueCount == barrier.votes;
    const bool value = kind == BarrierKind::AllTrue ? all : barrier.trueCount != 0;
    uint32_t& result = path.frame->predicates[op.slots[2]];
    result = value ? result | path.mask : result & ~path.mask;
  }
}

}  // namespace

bool waitsAtBarrier(const Op& op) {
  return static_cast<BarrierKind>(op.variant) != BarrierKind::Arrive;
}

int arriveAtBarrier(const Op& op, Warp& warp, uint32_t mask) {
  Block& block = *warp.block;
  const int lane = __builtin_ctz(mask);
  const uint32_t id = laneValue(op, warp, 0, mask);
  if (id >= kBarriers) {
    fault(op, warp, kLaunchFailed, "there is no barrier " + std::to_string(id), 0, lane);
  }
  uint32_t expected = 0;
  if (op.slots[1] != kNoSlot) {
    expected = laneValue(op, warp, 1, mask);
    if (expected == 0 || expected % kWarpLanes) {
      fault(op, warp, kLaunchFailed,
            "barrier " + std::to_string(id) + " for " + std::to_string(expected) +
                " threads, which is no multiple of 32", 0, lane);
    }
  }
  Barrier& barrier = block.barriers[id];
  if (!barrier.active) {
    barrier.active = true;
    barrier.expected = expected;
    barrier.again = barrier.trueCount = barrier.votes = 0;
    barrier.arrived.assign(block.warps.size(), 0);
  } else if (barrier.expected != expected) {
    fault(op, warp, kLaunchFailed,
          "barrier " + std::to_string(id) + " for " + std::to_string(expected) +
              " threads while others wait at it for " + std::to_string(barrier.expected), 0, lane);
  }
  uint32_t& arrived = barrier.arrived[warp.index];
  barrier.again += __builtin_popcount(arrived & mask);
  arrived |= mask;
  if (op.slots[3] != kNoSlot) {
    const uint32_t predicate = warp.predicates[op.slots[3]] ^ (op.immediate ? kAllLanes : 0);
    barrier.trueCount += __builtin_popcount(predicate & mask);
    barrier.votes += __builtin_popcount(mask);
  }
  return static_cast<int>(id);
}

void completeBarrier(Block& block, int id) {
  Barrier& barrier = block.barriers[id];
  if (!barrier.active || !isComplete(barrier, block)) return;
  barrier.active = false;
  block.epoch++;
  const std::vector<Op>& ops = block.launch->program->ops;
  for (Warp& warp : block.warps) {
    for (Path& path : warp.waiting) {
      if (path.barrier != id) continue;
      writeResult(barrier, ops[path.pc - 1], path);
      path.barrier = -1;
    }
  }
}

void completeBarriersOfAll(Block& block) {
  for (int id = 0; id < kBarriers; id++) {
    if (block.barriers[id].active) completeBarrier(block, id);
  }
}

std::string describeBarrier(const Block& block, int id) {
  const Barrier& barrier = block.barriers[id];
  const uint32_t expected = barrier.expected ? barrier.expected : block.threads;
  return "barrier " + std::to_string(id) + ", where " +
         std::to_string(arrivals(barrier, block)) + " of " + std::to_string(expected) +
         " threads have arrived";
}

}  // namespace sgpu
