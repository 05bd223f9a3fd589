/// The sixteen barriers of a block, PTX ISA 9.7.13.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op.h"

namespace sgpu {

struct Block;
struct Warp;

constexpr int kBarriers = 16;

/// Threads that have arrived and the others that are awaited.
struct Barrier {
  bool active = false;        ///< somebody has arrived
  uint32_t expected = 0;      ///< threads; 0: all of the block that have not exited
  uint32_t again = 0;         ///< arrivals of lanes that had arrived before
  uint32_t trueCount = 0;     ///< of a reduction's predicate
  uint32_t votes = 0;
  std::vector<uint32_t> arrived;  ///< lanes, by warp
};

/// Lanes of `mask` arrive at the barrier of an op. Those that must wait are left to the caller.
/// @returns The barrier's id.
/// @throws Fault 719 for an id or a count that is none, or counts that differ
int arriveAtBarrier(const Op& op, Warp& warp, uint32_t mask);

/// Whether an op's lanes wait at the barrier: all but `bar.arrive`.
bool waitsAtBarrier(const Op& op);

/// Lets the waiting go if all that were awaited have come.
void completeBarrier(Block& block, int id);

/// After lanes have exited: barriers for all threads of a block do not wait for them.
void completeBarriersOfAll(Block& block);

/// Which barrier has how many arrivals, for the message about a deadlock.
std::string describeBarrier(const Block& block, int id);

}  // namespace sgpu
