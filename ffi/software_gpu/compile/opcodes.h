/// All opcodes by name, and which registers an instruction reads and writes.
#pragma once

#include <string>

#include "../ptx/module.h"
#include "decode.h"

namespace sgpu {

/// @returns nullptr for an opcode that no table has.
const OpcodeRow* findOpcode(const std::string& opcode);

/// How many operands at the front of an instruction are results.
size_t resultCount(const ptx::Instruction& instruction);

/// Calls `visit(register, isWritten)` for each mention of a register, special ones included.
template <class Visit>
void visitRegisters(const ptx::Instruction& instruction, Visit visit) {
  if (instruction.guard >= 0) visit(instruction.guard, false);
  auto visitOperand = [&](auto& self, const ptx::Operand& operand, bool written) -> void {
    if (operand.kind == ptx::Operand::Kind::Memory) written = false;
    if (operand.reg >= 0) visit(operand.reg, written);
    if (operand.second >= 0) visit(operand.second, written);
    for (const ptx::Operand& element : operand.elements) self(self, element, written);
  };
  size_t results = resultCount(instruction);
  for (size_t i = 0; i < instruction.operands.size(); i++) {
    visitOperand(visitOperand, instruction.operands[i], i < results);
  }
}

}  // namespace sgpu
