#include "arithmetic.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

bool isHalf(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2;
}

void decodeByType(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("cc")) return decodeCarry(instruction, decoding, op);
  if (instruction.has("f32") || instruction.has("f32x2") || instruction.type == Type::F64) {
    return decodeFloatArithmetic(instruction, decoding, op);
  }
  if (isHalf(instruction.type)) return decodeHalfArithmetic(instruction, decoding, op);
  decodeIntegerArithmetic(instruction, decoding, op);
}

void decodeFunction(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (isHalf(instruction.type)) return decodeHalfArithmetic(instruction, decoding, op);
  decodeTranscendental(instruction, decoding, op);
}

}  // namespace

std::vector<OpcodeRow> arithmeticOpcodes() {
  std::vector<OpcodeRow> rows;
  for (const char* opcode : {"add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg",
                             "abs", "sad", "mul24", "mad24", "dp4a", "dp2a", "rcp", "sqrt",
                             "copysign"}) {
    rows.push_back({opcode, decodeByType});
  }
  for (const char* opcode : {"addc", "subc", "madc"}) rows.push_back({opcode, decodeCarry});
  for (const char* opcode : {"rsqrt", "sin", "cos", "ex2", "lg2", "tanh"}) {
    rows.push_back({opcode, decodeFunction});
  }
  return rows;
}

}  // namespace sgpu
