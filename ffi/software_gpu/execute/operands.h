/// What decoders make of an instruction's operands.
#pragma once

#include "../compile/decode.h"

namespace sgpu {

/// Refuses an instruction with fewer or more operands.
void takeOperands(const ptx::Instruction& instruction, Decoding& decoding, size_t least,
                  size_t most);

/// Slots of the operands in order, all of so many bits.
void sameSlots(const ptx::Instruction& instruction, Decoding& decoding, Op& op, unsigned bits,
               size_t operands);

/// The negation of a predicate operand as what to exclusive-or its lanes with.
uint32_t negationOf(const ptx::Operand& operand);

/// Slot of an address operand into `op.slots[operand]`; the displacement goes to `op.immediate`.
Address decodeAddress(const ptx::Operand& memory, ptx::Space space, Decoding& decoding, Op& op,
                      unsigned operand = 0);

/// Slots of an operand that may be a vector.
unsigned decodeElements(const ptx::Operand& operand, unsigned bits, Decoding& decoding,
                        uint32_t* slots, unsigned most);

}  // namespace sgpu
