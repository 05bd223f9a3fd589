#include "module.h"

namespace sgpu::ptx {

namespace {

const std::unordered_map<std::string_view, Type>& typeNames() {
  static const std::unordered_map<std::string_view, Type> names = {
      {"pred", Type::Pred}, {"b8", Type::B8},     {"b16", Type::B16},     {"b32", Type::B32},
      {"b64", Type::B64},   {"b128", Type::B128}, {"u8", Type::U8},       {"u16", Type::U16},
      {"u32", Type::U32},   {"u64", Type::U64},   {"s8", Type::S8},       {"s16", Type::S16},
      {"s32", Type::S32},   {"s64", Type::S64},   {"f16", Type::F16},     {"f16x2", Type::F16x2},
      {"bf16", Type::BF16}, {"bf16x2", Type::BF16x2}, {"tf32", Type::TF32}, {"f32", Type::F32},
      {"f64", Type::F64},
  };
  return names;
}

}  // namespace

const char* nameOf(Space space) {
  switch (space) {
    case Space::Generic: return "generic";
    case Space::Global: return "global";
    case Space::Shared: return "shared";
    case Space::Local: return "local";
    case Space::Const: return "constant";
    case Space::Param: return "parameter";
  }
  return "unknown";
}

unsigned bitsOf(Type type) {
  switch (type) {
    case Type::None: return 0;
    case Type::Pred: return 1;
    case Type::B8: case Type::U8: case Type::S8: return 8;
    case Type::B16: case Type::U16: case Type::S16: case Type::F16: case Type::BF16: return 16;
    case Type::B32: case Type::U32: case Type::S32: case Type::F16x2: case Type::BF16x2:
    case Type::TF32: case Type::F32: return 32;
    case Type::B64: case Type::U64: case Type::S64: case Type::F64: return 64;
    case Type::B128: return 128;
  }
  return 0;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 || type == Type::S64;
}

bool isFloat(Type type) { return type >= Type::F16; }

Type typeNamed(std::string_view word) {
  auto found = typeNames().find(word);
  return found == typeNames().end() ? Type::None : found->second;
}

bool Instruction::has(const char* modifier) const {
  for (const std::string& word : modifiers) {
    if (word == modifier) return true;
  }
  return false;
}

std::string Instruction::text() const {
  std::string text = opcode;
  for (const std::string& word : modifiers) text += "." + word;
  return text;
}

ParseError::ParseError(uint32_t line, const std::string& message)
    : line(line), message("PTX line " + std::to_string(line) + ": " + message) {}

}  // namespace sgpu::ptx
