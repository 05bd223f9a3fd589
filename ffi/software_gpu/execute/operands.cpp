#include "operands.h"

#include <string>

namespace sgpu {

void takeOperands(const ptx::Instruction& instruction, Decoding& decoding, size_t least,
                  size_t most) {
  const size_t count = instruction.operands.size();
  if (count >= least && count <= most) return;
  decoding.refuse(("has " + std::to_string(count) + " operands where " +
                   (least == most ? "" : "at least ") + std::to_string(least) + " are expected")
                      .c_str());
}

void sameSlots(const ptx::Instruction& instruction, Decoding& decoding, Op& op, unsigned bits,
               size_t operands) {
  takeOperands(instruction, decoding, operands, operands);
  for (size_t i = 0; i < operands; i++) {
    op.slots[i] = decoding.slot(instruction.operands[i], bits);
  }
}

uint32_t negationOf(const ptx::Operand& operand) { return operand.negated ? kAllLanes : 0; }

Address decodeAddress(const ptx::Operand& memory, ptx::Space space, Decoding& decoding, Op& op,
                      unsigned operand) {
  const Address address = decoding.address(memory, space);
  op.slots[operand] = address.slot;
  op.immediate = address.offset;
  return address;
}

unsigned decodeElements(const ptx::Operand& operand, unsigned bits, Decoding& decoding,
                        uint32_t* slots, unsigned most) {
  if (operand.kind != ptx::Operand::Kind::Vector) {
    slots[0] = decoding.slot(operand, bits);
    return 1;
  }
  if (operand.elements.size() > most) decoding.refuse("more elements than the instruction takes");
  unsigned count = 0;
  for (const ptx::Operand& element : operand.elements) {
    slots[count++] = decoding.slot(element, bits);
  }
  return count;
}

}  // namespace sgpu
