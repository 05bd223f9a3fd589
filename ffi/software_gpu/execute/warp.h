/// Thirty-two lanes that run one program, what they see, and how they part and meet.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "../compile/program.h"
#include "../memory/range_cache.h"
#include "fault.h"
#include "launch.h"
#include "op.h"

namespace sgpu {

struct Block;
class BlockShadow;

/// The registers of one function's activation in one warp. Lanes that called the same function from
/// the same place together share one; those that did not have their own.
struct Frame {
  const FunctionCode* function = nullptr;
  Frame* caller = nullptr;
  uint32_t returnTo = 0;       ///< op in the caller
  uint32_t callSite = 0;
  uint32_t depth = 0;
  uint32_t lanes = 0;          ///< that have not returned yet
  uint8_t* registers = nullptr;
  uint32_t* predicates = nullptr;
  uint32_t localOffset = 0;    ///< of this activation in each lane's local memory
};

/// Lanes at one place of the program.
struct Path {
  uint32_t pc;
  uint32_t mask;
  Frame* frame;
  int barrier;                 ///< that it waits at, or -1
};

/// A `cp.async` whose bytes have not arrived: only adversarial mode holds them back.
struct PendingCopy {
  uint8_t* to;
  const uint8_t* from;
  uint32_t bytes;        ///< copied
  uint32_t zeros;        ///< bytes behind them that become zero
  uint32_t lane;
  uint32_t group;
};

struct Warp {
  // What handlers touch all the time comes first.
  uint8_t* registers = nullptr;     ///< of `frame`
  uint32_t* predicates = nullptr;   ///< of `frame`: one bit per lane
  uint8_t* shared = nullptr;        ///< the block's
  uint32_t sharedBytes = 0;
  const uint8_t* params = nullptr;  ///< the launch's
  uint32_t paramBytes = 0;
  Frame* frame = nullptr;
  Block* block = nullptr;
  uint32_t index = 0;               ///< in its block
  uint32_t alive = 0;               ///< lanes that have not exited
  uint32_t pc = 0, mask = 0;        ///< the path that runs now
  uint64_t instructions = 0;
  uint64_t bytesRead = 0, bytesWritten = 0;

  /// -1 for lanes of `mask`, 0 for the others: what vectorised handlers select by.
  const int32_t* laneMask(uint32_t mask) {
    if (mask != cachedMask_) {
      cachedMask_ = mask;
      for (unsigned lane = 0; lane < kWarpLanes; lane++) {
        laneMask_[lane] = -static_cast<int32_t>(mask >> lane & 1);
      }
    }
    return laneMask_;
  }

  /// The thread's local memory, from the bottom of its stack.
  uint8_t* local(unsigned lane) const;
  uint32_t localBytes() const;

  std::vector<Path> waiting;        ///< all paths but the one that runs
  std::vector<PendingCopy> pending; ///< of `cp.async`
  uint32_t copyGroup[kWarpLanes] = {};  ///< the group that each lane's next `cp.async` joins

 private:
  uint32_t cachedMask_ = 0;
  alignas(32) int32_t laneMask_[kWarpLanes] = {};
};

/// The 32 lanes of an operand.
template <class T>
inline T* lanes(const Op& op, Warp& warp, unsigned operand) {
  return reinterpret_cast<T*>(warp.registers + op.slots[operand]);
}

/// A block: its warps, shared memory, local memory and barriers.
struct Block {
  const Launch* launch = nullptr;
  uint32_t index[3] = {0, 0, 0};
  uint32_t threads = 0;
  std::vector<Warp> warps;
  uint8_t* shared = nullptr;
  uint32_t sharedBytes = 0;
  uint8_t* local = nullptr;         ///< of all threads, one stack after the other
  uint32_t stackBytes = 0;
  uint64_t random = 0;              ///< state of the seeded choices in adversarial mode
  uint32_t epoch = 0;               ///< barriers passed, for the check of races
  RangeCache ranges;
  std::shared_ptr<BlockShadow> shadow;  ///< made by the first access of a launch that asks for checks
};

/// @throws Fault as the current instruction of a lane.
[[noreturn]] void fault(const Op& op, Warp& warp, int code, const std::string& what,
                        uint64_t address = 0, int lane = -1);

/// For `.sync` instructions: every living lane that `members` names has to be in `mask`.
/// @throws Fault 719
void requireConverged(const Op& op, Warp& warp, uint32_t mask, uint32_t members);

}  // namespace sgpu
