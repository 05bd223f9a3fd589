/// Decoders of the instructions that a whole warp carries out on matrices.
#pragma once

#include "../compile/decode.h"
#include "warp.h"

namespace sgpu {

void decodeMma(const ptx::Instruction& instruction, Decoding& decoding, Op& op);
void decodeWmma(const ptx::Instruction& instruction, Decoding& decoding, Op& op);

/// @throws Fault when lanes of the warp have exited
inline void requireAllLanes(const Op& op, Warp& warp, uint32_t mask) {
  if (mask != kAllLanes) {
    fault(op, warp, kIllegalInstruction, "it needs all 32 lanes of the warp", 0,
          __builtin_ctz(~mask));
  }
}

}  // namespace sgpu
