#include "modifiers.h"

#include <algorithm>

#include "../ptx/parser.h"

namespace sgpu {
namespace {

void refuseWord(const std::string& word, Decoding& decoding) {
  decoding.refuse(("unknown modifier ." + word).c_str());
}

bool matches(const std::string& word, const std::string& allowed) {
  const bool isPrefix = allowed.size() > 2 && allowed.compare(allowed.size() - 2, 2, "::") == 0;
  return isPrefix ? word.compare(0, allowed.size(), allowed) == 0 : word == allowed;
}

}  // namespace

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
  if (!words_.empty()) refuseWord(words_.front(), decoding_);
}

void allowOnly(const ptx::Instruction& instruction, Decoding& decoding,
               std::initializer_list<const char*> words) {
  for (const std::string& word : instruction.modifiers) {
    if (isScope(word) || ptx::typeNamed(word) != ptx::Type::None) continue;
    const bool isKnown = std::any_of(words.begin(), words.end(), [&](const char* allowed) {
      return matches(word, allowed);
    });
    if (!isKnown) refuseWord(word, decoding);
  }
}

bool isScope(const std::string& word) {
  return word == "cta" || word == "cluster" || word == "gpu" || word == "sys";
}

ptx::Space spaceOf(const ptx::Instruction& instruction) {
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

}  // namespace sgpu
