/// Checked access of kernels to memory: where an address points and whether it may.
#pragma once

#include <cstdint>

#include "../execute/warp.h"
#include "../ptx/module.h"
#include "address_space.h"

namespace sgpu {

enum class Access : uint8_t {
  Read,
  Write,
  Atomic,       ///< reads and writes at once
  StrongRead,   ///< volatile or ordered: no race against other strong accesses
  StrongWrite,
};

inline bool writes(Access kind) {
  return kind == Access::Write || kind == Access::Atomic || kind == Access::StrongWrite;
}
inline bool reads(Access kind) { return kind != Access::Write && kind != Access::StrongWrite; }

/// Host address of `bytes` at a lane's address in a space (`Generic` is told apart here), checked
/// for bounds, alignment to `alignment`, and what the launch's options ask for.
/// @throws Fault 700, 716, 717 or 719
uint8_t* access(const Op& op, Warp& warp, unsigned lane, ptx::Space space, uint64_t address,
                uint32_t bytes, uint32_t alignment, Access kind);

/// The same without the options' checks: bounds and alignment only.
uint8_t* locate(const Op& op, Warp& warp, unsigned lane, ptx::Space space, uint64_t address,
                uint32_t bytes, uint32_t alignment, Access kind);

/// The address in a lane's operand 0, whose displacement is `Op::immediate`: 32-bit addresses wrap
/// as the register does.
inline uint64_t laneAddress(const Op& op, const Warp& warp, unsigned lane, unsigned operand,
                            bool wide) {
  const uint32_t slot = op.slots[operand];
  if (slot == kNoSlot) return static_cast<uint64_t>(op.immediate);
  const uint8_t* at = warp.registers + slot;
  if (wide) return reinterpret_cast<const uint64_t*>(at)[lane] + op.immediate;
  return static_cast<uint32_t>(reinterpret_cast<const uint32_t*>(at)[lane] + op.immediate);
}

}  // namespace sgpu
