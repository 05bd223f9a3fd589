/// The words behind an opcode, taken one by one: what nobody has taken is unknown, and refused.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "../compile/decode.h"

namespace sgpu {

class ModifierList {
 public:
  ModifierList(const ptx::Instruction& instruction, Decoding& decoding);

  bool take(const char* word);
  /// The first of the words that is there, by its index; -1 if none is.
  int takeOneOf(std::initializer_list<const char*> words);
  /// The next word that is a type; `None` when there is no more.
  ptx::Type takeType();
  /// Refuses what is left.
  void end();

 private:
  Decoding& decoding_;
  std::vector<std::string> words_;
};

/// Refuses an instruction with fewer or more operands.
void takeOperands(const ptx::Instruction& instruction, Decoding& decoding, size_t least,
                  size_t most);

/// Slots of the operands in order, all of so many bits.
void sameSlots(const ptx::Instruction& instruction, Decoding& decoding, Op& op, unsigned bits,
               size_t operands);

/// Index of a predicate operand; its negation as what to exclusive-or its lanes with.
uint32_t negationOf(const ptx::Operand& operand);

}  // namespace sgpu
