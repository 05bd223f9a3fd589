#include "modifier_list.h"

#include <algorithm>

#include "../ptx/parser.h"

namespace sgpu {

ModifierList::ModifierList(const ptx::Instruction& instruction, Decoding& decoding)
    : decoding_(decoding), words_(instruction.modifiers) {}

bool ModifierList::take(const char* word) {
  const auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

int ModifierList::takeOneOf(std::initializer_list<const char*> words) {
  int index = 0;
  for (const char* word : words) {
    if (take(word)) return index;
    index++;
  }
  return -1;
}

ptx::Type ModifierList::takeType() {
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    const ptx::Type type = ptx::typeNamed(*word);
    if (type == ptx::Type::None) continue;
    words_.erase(word);
    return type;
  }
  return ptx::Type::None;
}

void ModifierList::end() {
  if (words_.empty()) return;
  decoding_.refuse(("unknown modifier ." + words_.front()).c_str());
}

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

}  // namespace sgpu
