#include "function_decoding.h"

#include <algorithm>

#include "../ptx/literal.h"
#include "errors.h"
#include "opcodes.h"

namespace sgpu {

namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

uint64_t lowBits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

/// The type that an immediate is converted to: the instruction's, if it has that width.
Type literalType(const ptx::Instruction& instruction, unsigned bits) {
  if (ptx::bitsOf(instruction.type) == bits) return instruction.type;
  return bits == 64 ? Type::B64 : bits == 16 ? Type::B16 : Type::B32;
}

}  // namespace

FunctionDecoding::FunctionDecoding(const ptx::Function& function, const Symbols& symbols,
                                   const SlotMap& map, Program& program, FunctionCode& code)
    : function_(function), symbols_(symbols), map_(map), program_(program), code_(code) {
  code_.registerBytes = map.bytes;
  code_.predicates = map.predicates;
}

void FunctionDecoding::begin(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  used_.clear();
  size_t results = std::min(resultCount(instruction), instruction.operands.size());
  auto requireWritable = [&](auto& self, const Operand& operand) -> void {
    bool readOnly = operand.kind == Operand::Kind::Immediate ||
                    operand.kind == Operand::Kind::Symbol ||
                    (operand.reg >= 0 && operand.kind == Operand::Kind::Register &&
                     function_.registers[operand.reg].special);
    if (readOnly) reject("its result cannot go there");
    if (operand.kind != Operand::Kind::Vector) return;
    for (const Operand& element : operand.elements) self(self, element);
  };
  for (size_t i = 0; i < results; i++) requireWritable(requireWritable, instruction.operands[i]);
}

void FunctionDecoding::requireAllUsed() {
  // A cache policy is a register that no result depends on.
  if (instruction_->has("L2::cache_hint")) return;
  auto isUsed = [&](auto& self, const Operand& operand) -> bool {
    if (std::find(used_.begin(), used_.end(), &operand) != used_.end()) return true;
    if (operand.kind == Operand::Kind::Register) return false;
    return operand.kind != Operand::Kind::Vector ||
           std::all_of(operand.elements.begin(), operand.elements.end(),
                       [&](const Operand& element) { return self(self, element); });
  };
  for (size_t i = 0; i < instruction_->operands.size(); i++) {
    if (isUsed(isUsed, instruction_->operands[i])) continue;
    reject("operand " + std::to_string(i + 1) + " is none of its operands");
  }
}

uint32_t FunctionDecoding::slot(const Operand& operand, unsigned bits) {
  use(operand);
  if (operand.negated) reject("only predicates can be negated");
  switch (operand.kind) {
    case Operand::Kind::None:
      if (!isResult(operand)) reject("`_` has no value");
      return discarded(false);
    case Operand::Kind::Register:
      return registerSlot(operand.reg, bits);
    case Operand::Kind::Immediate:
      requireLiteral(operand, bits);
      return constant(bits, Constant::Kind::Value,
                      ptx::literalBits(operand, literalType(*instruction_, bits)));
    case Operand::Kind::Symbol: {
      Place place = placeOf(operand.symbol);
      return constant(bits, place.kind, place.value + operand.offset);
    }
    case Operand::Kind::Memory:
      reject("an address in brackets where a value is expected");
    case Operand::Kind::Vector:
      reject("a vector where a single value is expected");
  }
  reject("an operand that is not understood");
}

/// Integers and floats are not converted into each other. Instructions of whole warps have integers
/// beside their floats: members, strides.
void FunctionDecoding::requireLiteral(const Operand& operand, unsigned bits) {
  Type type = instruction_->type;
  if (ptx::bitsOf(type) != bits || instruction_->has("sync")) return;
  bool ofFloats = type == Type::F32 || type == Type::F64;
  bool ofIntegers = type >= Type::U8 && type <= Type::S64;
  bool integer = operand.literal == Type::S64;
  if (integer ? !ofFloats : !ofIntegers) return;
  for (const std::string& word : instruction_->modifiers) {
    Type other = ptx::typeNamed(word);
    if (other != Type::None && ptx::isFloat(other) != ptx::isFloat(type)) return;
  }
  reject(integer ? "an integer where a float is expected" : "a float where an integer is expected");
}

uint32_t FunctionDecoding::predicate(const Operand& operand) {
  use(operand);
  if (operand.kind == Operand::Kind::None && isResult(operand)) return discarded(true);
  if (operand.kind == Operand::Kind::Immediate && operand.literal == Type::S64) {
    return constant(1, Constant::Kind::Value, operand.bits != 0);
  }
  if (operand.kind != Operand::Kind::Register) reject("a predicate is expected");
  return predicateOf(operand.reg);
}

uint32_t FunctionDecoding::predicateOf(int index) {
  const ptx::Register& reg = function_.registers[index];
  if (reg.type != Type::Pred) reject("`" + reg.name + "` is not a predicate");
  return reg.special ? specialSlot(index) : map_.slots[index];
}

uint32_t FunctionDecoding::secondPredicate(const Operand& operand) {
  return operand.second < 0 ? kNoSlot : predicateOf(operand.second);
}

unsigned FunctionDecoding::registerBits(const Operand& operand) {
  if (operand.kind == Operand::Kind::Register) {
    return ptx::bitsOf(function_.registers[operand.reg].type);
  }
  if (operand.kind == Operand::Kind::Symbol) return 64;
  return std::max(ptx::bitsOf(instruction_->type), 1u);
}

const char* FunctionDecoding::special(const Operand& operand) {
  if (operand.kind != Operand::Kind::Register) return nullptr;
  const ptx::Register& reg = function_.registers[operand.reg];
  if (!reg.special || reservedShared(reg.name) >= 0) return nullptr;
  use(operand);
  return reg.name.c_str();
}

Address FunctionDecoding::address(const Operand& operand, Space space) {
  use(operand);
  if (operand.kind != Operand::Kind::Memory) reject("an address in brackets is expected");
  if (operand.reg >= 0) {
    unsigned bits = ptx::bitsOf(function_.registers[operand.reg].type);
    if (bits != 32 && bits != 64) reject("an address has 32 or 64 bits");
    if (space == Space::Param && !function_.isEntry) space = Space::Local;
    return {space, registerSlot(operand.reg, bits), bits == 64, operand.offset};
  }
  if (operand.symbol.empty()) return {space, kNoSlot, false, operand.offset};
  Place place = placeOf(operand.symbol);
  bool fits = space == Space::Generic || space == place.space ||
              (space == Space::Param && place.space == Space::Local);
  if (!fits) {
    reject("`" + operand.symbol + "` lies in " + nameOf(place.space) + " memory, not in " +
           nameOf(space));
  }
  if (place.kind == Constant::Kind::Value) {
    return {place.space, kNoSlot, false, static_cast<int64_t>(place.value + operand.offset)};
  }
  return {place.space, constant(32, place.kind, place.value), false, operand.offset};
}

const uint32_t* FunctionDecoding::more(const std::vector<uint32_t>& slots) {
  auto table = std::make_unique<uint32_t[]>(slots.size());
  std::copy(slots.begin(), slots.end(), table.get());
  program_.moreSlots.push_back(std::move(table));
  return program_.moreSlots.back().get();
}

void FunctionDecoding::refuse(const char* why) { sgpu::refuse(*instruction_, why); }
void FunctionDecoding::reject(const std::string& why) { sgpu::refuse(*instruction_, why); }

Place FunctionDecoding::placeOf(const std::string& symbol) {
  Place place;
  if (!symbols_.find(symbol, place)) reject("`" + symbol + "` is defined nowhere");
  return place;
}

uint32_t FunctionDecoding::registerSlot(int index, unsigned bits) {
  const ptx::Register& reg = function_.registers[index];
  unsigned own = ptx::bitsOf(reg.type);
  if (own == 1) reject("predicate `" + reg.name + "` where a value is expected");
  if (slotBytes(own) != slotBytes(bits)) {
    reject("register `" + reg.name + "` has " + std::to_string(own) + " bits where " +
           std::to_string(bits) + " are expected");
  }
  return reg.special ? specialSlot(index) : map_.slots[index];
}

uint32_t FunctionDecoding::takeBytes(unsigned bits) {
  uint32_t at = code_.registerBytes;
  code_.registerBytes += slotBytes(bits);
  return at;
}

uint32_t FunctionDecoding::constant(unsigned bits, Constant::Kind kind, uint64_t value) {
  if (bits > 64) reject("an immediate of more than 64 bits");
  // Narrow values lie in slots of 32 bits; their upper half says nothing, so they share.
  bits = bits == 1 ? 1 : bits <= 32 ? 32 : 64;
  value = lowBits(value, bits);
  auto [found, isNew] = constants_.emplace(std::tuple(bits, kind, value), 0);
  if (isNew) {
    found->second = bits == 1 ? code_.predicates++ : takeBytes(bits);
    code_.constants.push_back({found->second, static_cast<uint8_t>(bits), kind, value});
  }
  return found->second;
}

uint32_t FunctionDecoding::specialSlot(int index) {
  const ptx::Register& reg = function_.registers[index];
  unsigned bits = ptx::bitsOf(reg.type);
  if (int reserved = reservedShared(reg.name); reserved >= 0) {
    return constant(bits, Constant::Kind::Value, reserved);
  }
  auto [found, isNew] = specials_.emplace(index, 0);
  if (isNew) {
    found->second = bits == 1 ? code_.predicates++ : takeBytes(bits);
    code_.specials.push_back({found->second, static_cast<uint8_t>(bits), reg.name});
  }
  return found->second;
}

/// As large as the largest value, since nobody says what would have gone there.
uint32_t FunctionDecoding::discarded(bool isPredicate) {
  if (isPredicate) {
    if (discardedPredicate_ == kNoSlot) discardedPredicate_ = code_.predicates++;
    return discardedPredicate_;
  }
  if (discardedSlot_ == kNoSlot) discardedSlot_ = takeBytes(128);
  return discardedSlot_;
}

bool FunctionDecoding::isResult(const Operand& operand) const {
  size_t results = std::min(resultCount(*instruction_), instruction_->operands.size());
  for (size_t i = 0; i < results; i++) {
    const Operand& result = instruction_->operands[i];
    if (&operand == &result) return true;
    for (const Operand& element : result.elements) {
      if (&operand == &element) return true;
    }
  }
  return false;
}

}  // namespace sgpu
