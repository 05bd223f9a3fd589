/// Barriers that live in shared memory.
#pragma once

#include "../compile/decode.h"
#include "warp.h"

namespace sgpu {

void decodeMbarrier(const ptx::Instruction& instruction, Decoding& decoding, Op& op);

/// One arrival of a lane at the barrier at an address of shared memory, before which its count of
/// pending arrivals may be raised by one.
void arriveAtMbarrier(const Op& op, Warp& warp, unsigned lane, uint64_t address, bool raise);

}  // namespace sgpu
