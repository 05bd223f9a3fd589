/// Thirty-two lanes that run one program, what they see, and how they part and meet.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../compile/program.h"
#include "../memory/range_cache.h"
#include "barrier.h"
#include "fault.h"
#include "frame.h"
#include "launch.h"
#include "op.h"

namespace sgpu {

struct Block;
class BlockShadow;

/// Lanes at one place of the program.
struct Path {
  uint32_t pc;
  uint32_t mask;
  Frame* frame;
  int barrier;                 ///< that it waits at, or -1

  bool runnable() const { return barrier < 0; }
};

/// `Path::barrier` of lanes at a `Flow::Meet` whose other members have not come yet.
constexpr int kMeeting = kBarriers;

/// A `cp.async` whose bytes have not arrived: only adversarial mode holds them back.
struct PendingCopy {
  const Op* op;          ///< that began it
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
  uint32_t carry = 0;               ///< of each lane, between `add.cc` and `addc`
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

  FramePool frames;
  /// The running path does not give way to lower ones before its slice ends. Every other slice of a
  /// warp with several paths is so, or one that spins could starve the path it waits for.
  bool keepsPath = false;
  uint32_t turn = 0;                ///< which path such a slice is for

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
  uint32_t dynamicSharedOffset = 0; ///< of `extern .shared` arrays
  uint8_t* local = nullptr;         ///< of all threads, one stack after the other
  uint32_t stackBytes = 0;
  uint64_t serial = 0;              ///< of the blocks that have run here
  uint64_t random = 0;              ///< state of the seeded choices in adversarial mode
  uint32_t epoch = 0;               ///< barriers passed, for the check of races
  RangeCache ranges;
  Barrier barriers[kBarriers];
  std::shared_ptr<BlockShadow> shadow;  ///< made by the first access of a launch that asks for checks
};

/// The next of a sequence of seeded choices.
inline uint64_t nextRandom(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545F4914F6CDD1Dull >> 16;
}

/// @throws Fault as the current instruction of a lane.
[[noreturn]] void fault(const Op& op, Warp& warp, int code, const std::string& what,
                        uint64_t address = 0, int lane = -1);

}  // namespace sgpu
