/// What the instructions of one function are told about their operands.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "decode.h"
#include "program.h"
#include "slots.h"
#include "symbols.h"

namespace sgpu {

class FunctionDecoding : public Decoding {
 public:
  FunctionDecoding(const ptx::Function& function, const Symbols& symbols, const SlotMap& map,
                   Program& program, FunctionCode& code);

  /// The instruction that the answers are about from now on.
  void begin(const ptx::Instruction& instruction);
  /// Refuses registers of the current instruction that its decoder has not asked for: there are more
  /// operands than the instruction takes.
  void requireAllUsed();

  uint32_t slot(const ptx::Operand& operand, unsigned bits) override;
  uint32_t predicate(const ptx::Operand& operand) override;
  uint32_t secondPredicate(const ptx::Operand& operand) override;
  unsigned registerBits(const ptx::Operand& operand) override;
  const char* special(const ptx::Operand& operand) override;
  Address address(const ptx::Operand& operand, ptx::Space space) override;
  const uint32_t* more(const std::vector<uint32_t>& slots) override;
  [[noreturn]] void refuse(const char* why) override;

  uint32_t predicateOf(int index);

 private:
  [[noreturn]] void reject(const std::string& why);
  void requireLiteral(const ptx::Operand& operand, unsigned bits);
  Place placeOf(const std::string& symbol);
  uint32_t registerSlot(int index, unsigned bits);
  uint32_t constant(unsigned bits, Constant::Kind kind, uint64_t value);
  uint32_t specialSlot(int index);
  uint32_t discarded(bool isPredicate);
  bool isResult(const ptx::Operand& operand) const;
  void use(const ptx::Operand& operand) { used_.push_back(&operand); }
  uint32_t takeBytes(unsigned bits);

  const ptx::Function& function_;
  const Symbols& symbols_;
  const SlotMap& map_;
  Program& program_;
  FunctionCode& code_;
  const ptx::Instruction* instruction_ = nullptr;
  std::vector<const ptx::Operand*> used_;
  std::map<std::tuple<unsigned, Constant::Kind, uint64_t>, uint32_t> constants_;
  std::map<int, uint32_t> specials_;  ///< by register
  uint32_t discardedSlot_ = kNoSlot, discardedPredicate_ = kNoSlot;
};

}  // namespace sgpu
