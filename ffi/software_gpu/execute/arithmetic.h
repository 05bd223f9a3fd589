/// Decoders of arithmetic by kind of number.
#pragma once

#include "../compile/decode.h"

namespace sgpu {

void decodeIntegerArithmetic(const ptx::Instruction& instruction, Decoding& decoding, Op& op);
void decodeFloatArithmetic(const ptx::Instruction& instruction, Decoding& decoding, Op& op);
void decodeHalfArithmetic(const ptx::Instruction& instruction, Decoding& decoding, Op& op);
/// sin cos ex2 lg2 tanh rsqrt, and rcp, sqrt and div in their approximate forms.
void decodeTranscendental(const ptx::Instruction& instruction, Decoding& decoding, Op& op);
/// add.cc addc sub.cc subc mad.cc madc
void decodeCarry(const ptx::Instruction& instruction, Decoding& decoding, Op& op);

}  // namespace sgpu
