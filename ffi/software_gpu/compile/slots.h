/// Gives registers that are never live together the same place.
#pragma once

#include <cstdint>
#include <vector>

#include "../ptx/module.h"
#include "liveness.h"

namespace sgpu {

constexpr uint32_t kSlotUnit = 128;  ///< 32 lanes of 32 bits

/// Bytes that a register takes in a frame.
inline uint32_t slotBytes(unsigned bits) { return bits <= 32 ? kSlotUnit : kSlotUnit * bits / 32; }

struct SlotMap {
  /// By register: a byte offset, or a predicate's index; kNoSlot for one that has none.
  std::vector<uint32_t> slots;
  uint32_t bytes = 0;
  uint32_t predicates = 0;
};

/// Linear scan: compilers emit registers that are written once each, hundreds of them, and a warp's
/// frame has to fit the innermost cache. A result never shares the slot of an operand of the same
/// instruction, so that no handler has to care about the order of its lanes.
SlotMap allocateSlots(const ptx::Function& function, const std::vector<Interval>& intervals);

}  // namespace sgpu
