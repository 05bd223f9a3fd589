/// What decoders ask of an instruction's words.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>

#include "../compile/decode.h"

namespace sgpu {

/// The state space that an instruction names, sub-spaces such as `shared::cta` included.
inline ptx::Space spaceOf(const ptx::Instruction& instruction) {
  for (const std::string& word : instruction.modifiers) {
    const std::string space = word.substr(0, word.find("::"));
    if (space == "global") return ptx::Space::Global;
    if (space == "shared") return ptx::Space::Shared;
    if (space == "local") return ptx::Space::Local;
    if (space == "const") return ptx::Space::Const;
    if (space == "param") return ptx::Space::Param;
  }
  return ptx::Space::Generic;
}

inline bool isScope(const std::string& word) {
  return word == "cta" || word == "cluster" || word == "gpu" || word == "sys";
}

/// Refuses words that a decoder does not know, so that nothing is quietly ignored. A word that ends
/// in `::` stands for all that begin with it; types and scopes need no mention.
inline void allowOnly(const ptx::Instruction& instruction, Decoding& decoding,
                      std::initializer_list<const char*> words) {
  static const char* const kTypes[] = {
      "pred", "b8",  "b16", "b32",   "b64",  "b128",   "u8",   "u16", "u32", "u64", "s8",
      "s16",  "s32", "s64", "f16",   "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64"};
  for (const std::string& word : instruction.modifiers) {
    bool known = isScope(word);
    for (const char* type : kTypes) known |= word == type;
    for (const char* allowed : words) {
      const size_t length = strlen(allowed);
      const bool prefix = length > 2 && strcmp(allowed + length - 2, "::") == 0;
      known |= prefix ? word.compare(0, length, allowed) == 0 : word == allowed;
    }
    if (!known) decoding.refuse(("unknown modifier ." + word).c_str());
  }
}

/// Slot of an address operand into `op.slots[operand]`; the displacement goes to `op.immediate`.
inline Address decodeAddress(const ptx::Operand& memory, ptx::Space space, Decoding& decoding,
                             Op& op, unsigned operand = 0) {
  const Address address = decoding.address(memory, space);
  op.slots[operand] = address.slot;
  op.immediate = address.offset;
  return address;
}

/// Slots of an operand that may be a vector.
inline unsigned decodeElements(const ptx::Operand& operand, unsigned bits, Decoding& decoding,
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
