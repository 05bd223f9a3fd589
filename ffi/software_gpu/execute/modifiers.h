/// The words behind an opcode. A decoder takes them one by one or says which ones it knows; either
/// way one that is unknown is refused, so that nothing is quietly ignored.
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

/// Refuses all words but these, types and scopes. One that ends in `::` stands for all that begin
/// with it.
void allowOnly(const ptx::Instruction& instruction, Decoding& decoding,
               std::initializer_list<const char*> words);

/// Whether a word says which threads an operation is ordered for.
bool isScope(const std::string& word);

/// The state space that an instruction names, sub-spaces such as `shared::cta` included.
ptx::Space spaceOf(const ptx::Instruction& instruction);

}  // namespace sgpu
