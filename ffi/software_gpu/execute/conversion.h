/// What the parts of `cvt` share.
#pragma once

#include "../compile/decode.h"
#include "modifiers.h"

namespace sgpu {

/// Fields of an op of `cvt`. A register may be wider than the type it holds.
struct Conversion {
  ptx::Type to, from;
  unsigned toSlotBits, fromSlotBits;  ///< 32 or 64
  int integral;  ///< index in {rni, rzi, rmi, rpi}, or -1
  int rounding;  ///< index in {rn, rz, rm, rp}, or -1
  bool ftz, sat;
};

void decodeIntegerToInteger(const Conversion& conversion, Decoding& decoding, Op& op);
void decodeFloatToInteger(const Conversion& conversion, Decoding& decoding, Op& op);
void decodeIntegerToFloat(const Conversion& conversion, Decoding& decoding, Op& op);
/// Takes `.relu`, `.satfinite`, `.rna` from the words itself.
void decodeFloatToFloat(const Conversion& conversion, ModifierList& words, Decoding& decoding,
                        Op& op);
/// Two results in one register: `cvt.rn.bf16x2.f32 d, a, b`, `cvt.rn.satfinite.e4m3x2.f32`, ...
/// @returns Whether the instruction is one of these.
bool decodePairConversion(const ptx::Instruction& instruction, Decoding& decoding, Op& op);

}  // namespace sgpu
