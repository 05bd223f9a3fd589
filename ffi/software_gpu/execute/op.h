/// One decoded instruction: a handler, and where its operands lie.
#pragma once

#include <cstdint>

namespace sgpu {

struct Op;
struct Warp;

/// Runs an instruction for the lanes of `mask`, which is never 0.
using Handler = void (*)(const Op& op, Warp& warp, uint32_t mask);

constexpr uint32_t kNoSlot = ~0u;
constexpr uint32_t kAllLanes = ~0u;
constexpr unsigned kWarpLanes = 32;

/// What happens to the program counter. Only the warp itself acts on anything but `Next`.
enum class Flow : uint8_t {
  Next,            ///< the handler does all of it
  Branch,          ///< to `target`
  IndirectBranch,  ///< slots[0]: 32-bit index into `Program::branchTargets[immediate]`
  Call,            ///< of function `target` at `Program::callSites[immediate]`
  IndirectCall,    ///< slots[0]: 64-bit function address; `immediate` as of `Call`
  Return,          ///< from an entry: exit
  Exit,
  Barrier,         ///< of the block, see `BarrierKind`
  Yield,           ///< the time slice ends here: `nanosleep`
  /// A `.sync` of lanes: waits for the living lanes that `slots[kMembers]` names, then `Next`;
  /// without a handler (`bar.warp.sync`) lanes may wait at different places.
  Meet,
};

/// `Op::variant` of `Flow::Barrier`. slots[0]: 32-bit id; slots[1]: 32-bit count of threads or
/// kNoSlot; of reductions slots[2] is the result, slots[3] the predicate, which `immediate` 1
/// negates.
enum class BarrierKind : uint8_t { Sync, Arrive, CountTrue, AllTrue, AnyTrue };

/// The operand of a `Flow::Meet` that holds each lane's member mask; kNoSlot names all lanes.
constexpr unsigned kMembers = 17;

/// Aligned so that what most instructions touch of it, up to `slots[3]`, is one line of the cache.
struct alignas(64) Op {
  Handler full = nullptr;     ///< for all 32 lanes
  Handler partial = nullptr;  ///< for any mask
  Flow flow = Flow::Next;
  bool guardNegated = false;
  bool leader = false;        ///< begins a basic block: where diverged paths may meet
  uint8_t variant = 0;        ///< the handler's own
  uint16_t straight = 0;      ///< ops from here on that are `Next` without a guard, in one block
  int32_t guard = -1;         ///< predicate slot, or -1
  uint32_t target = 0;        ///< of a branch an op, of a call a function
  uint32_t line = 0;          ///< of the PTX text
  uint32_t memoryBytes = 0;   ///< global bytes that 32 lanes move, for the counters
  int64_t immediate = 0;
  /// Byte offsets into the frame's registers, or indices of predicates: the handler knows which.
  /// A register of up to 32 bits takes 128 bytes (32 lanes), one of 64 bits 256.
  uint32_t slots[18];
  /// Operands beyond `slots`, e.g. of `wmma` and `call`; owned by the program.
  const uint32_t* more = nullptr;

  Op() { for (uint32_t& slot : slots) slot = kNoSlot; }
};

}  // namespace sgpu
