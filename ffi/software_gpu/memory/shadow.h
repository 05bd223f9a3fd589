/// What is known about memory beside its bytes, for the checks that a launch may ask for: which
/// bytes nobody ever wrote, and who touched a block's shared memory since its last barrier.
#pragma once

#include <cstdint>

#include "../execute/warp.h"
#include "access.h"

namespace sgpu {

inline bool asksForChecks(const Warp& warp) {
  const ExecutionOptions& options = warp.block->launch->options;
  return options.checkUninitialised || options.checkRaces;
}

/// Checks an access that has been located, and notes what it changes.
/// @throws Fault 719
void inspect(const Op& op, Warp& warp, unsigned lane, const uint8_t* at, uint32_t bytes,
             Access kind);

/// Shared memory that a `cp.async` will write: from now to its arrival, which is a `Write`, the
/// bytes count as unwritten.
void inspectCopyBegin(const Op& op, Warp& warp, unsigned lane, const uint8_t* at, uint32_t bytes);

/// A thread's local memory that a call has filled with arguments or results.
void markLocalWritten(Warp& warp, unsigned lane, uint32_t offset, uint32_t bytes);

/// Whether the three functions below do anything; set while `checkUninitialised` is.
void trackGlobalWrites(bool on);
/// Global memory that was just allocated: nobody has written it.
void markFresh(uint64_t begin, uint64_t end);
/// Global memory that a copy or memset has filled, or that is no longer there.
void markWritten(uint64_t begin, uint64_t end);
/// The first byte of [begin, end) that nobody wrote, or `end`: for copies out of global memory.
uint64_t firstUnwritten(uint64_t begin, uint64_t end);

}  // namespace sgpu
