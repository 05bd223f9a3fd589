#include "arithmetic.h"

#include <unordered_map>

#include "directed_rounding.h"
#include "float_operations.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

// One handler per combination of `.ftz` and `.sat`.
using Modes = const Handler[2][2];

template <class F>
Modes unaryModes = {{unary<Modified<F, false, false>, float, float>,
                     unary<Modified<F, false, true>, float, float>},
                    {unary<Modified<F, true, false>, float, float>,
                     unary<Modified<F, true, true>, float, float>}};
template <class F>
Modes binaryModes = {{binary<Modified<F, false, false>, float, float>,
                      binary<Modified<F, false, true>, float, float>},
                     {binary<Modified<F, true, false>, float, float>,
                      binary<Modified<F, true, true>, float, float>}};
template <class F>
Modes ternaryModes = {{ternary<Modified<F, false, false>, float, float>,
                       ternary<Modified<F, false, true>, float, float>},
                      {ternary<Modified<F, true, false>, float, float>,
                       ternary<Modified<F, true, true>, float, float>}};

/// Decodes `op{.rnd}{.ftz}{.sat}.f32` and `op{.rnd}.f64` with so many operands.
void decodeRounded(const Instruction& instruction, Decoding& decoding, Op& op, size_t operands,
                   Modes& singles, Handler doubles, ModifierList& words) {
  const int rounding = words.takeOneOf({"rn", "rz", "rm", "rp"});
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  sameSlots(instruction, decoding, op, bits, operands);
  if (type == Type::F64) {
    setRounded(op, doubles, bits, rounding);
  } else {
    const bool ftz = words.take("ftz"), sat = words.take("sat");
    setRounded(op, singles[ftz][sat], bits, rounding);
  }
  words.end();
}

/// `add.f32.bf16` and its kin: the last operand and the result are f32, the others narrower.
void decodeWidened(const Instruction& instruction, Decoding& decoding, Op& op, Handler halves,
                   Handler bfloats) {
  ModifierList words(instruction, decoding);
  const int rounding = words.takeOneOf({"rn", "rz", "rm", "rp"});
  words.takeType();
  const Type narrow = words.takeType();
  const size_t operands = instruction.opcode == "fma" ? 4 : 3;
  takeOperands(instruction, decoding, operands, operands);
  for (size_t i = 0; i < operands; i++) {
    const bool wide = i == 0 || i == operands - 1;
    op.slots[i] = decoding.slot(instruction.operands[i], wide ? 32 : 16);
  }
  setRounded(op, narrow == Type::F16 ? halves : bfloats, 32, rounding);
  words.end();
}

/// `add.f32x2`, `mul.f32x2` and `fma.f32x2`: two floats in a 64-bit register.
template <class F>
void decodePair(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const int rounding = words.takeOneOf({"rn", "rz", "rm", "rp"});
  const bool ftz = words.take("ftz");
  words.take("f32x2");
  const bool three = instruction.opcode == "fma";
  sameSlots(instruction, decoding, op, 64, three ? 4 : 3);
  using Plain = InPairs<Modified<F, false, false>>;
  using Flushing = InPairs<Modified<F, true, false>>;
  Handler handler = nullptr;
  if constexpr (std::is_same_v<F, FusedMultiplyAdd>) {
    handler = ftz ? ternary<Flushing, uint64_t, uint64_t> : ternary<Plain, uint64_t, uint64_t>;
  } else {
    handler = ftz ? binary<Flushing, uint64_t, uint64_t> : binary<Plain, uint64_t, uint64_t>;
  }
  setRounded(op, handler, 64, rounding);
  words.end();
}

bool isWidened(const Instruction& instruction) {
  return instruction.has("f32") && (instruction.has("f16") || instruction.has("bf16"));
}

void decodeAdd(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("f32x2")) return decodePair<Add>(instruction, decoding, op);
  if (isWidened(instruction)) {
    return decodeWidened(instruction, decoding, op, binary<AddWidened, float, Half, float>,
                         binary<AddWidened, float, BFloat, float>);
  }
  ModifierList words(instruction, decoding);
  decodeRounded(instruction, decoding, op, 3, binaryModes<Add>, binary<Add, double, double>, words);
}

void decodeSubtract(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (isWidened(instruction)) {
    return decodeWidened(instruction, decoding, op, binary<SubtractWidened, float, Half, float>,
                         binary<SubtractWidened, float, BFloat, float>);
  }
  ModifierList words(instruction, decoding);
  decodeRounded(instruction, decoding, op, 3, binaryModes<Subtract>,
                binary<Subtract, double, double>, words);
}

void decodeMultiply(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("f32x2")) return decodePair<Multiply>(instruction, decoding, op);
  ModifierList words(instruction, decoding);
  decodeRounded(instruction, decoding, op, 3, binaryModes<Multiply>,
                binary<Multiply, double, double>, words);
}

/// `mad` of floats is `fma` by another name on every device of today.
void decodeFma(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("f32x2")) return decodePair<FusedMultiplyAdd>(instruction, decoding, op);
  if (isWidened(instruction)) {
    return decodeWidened(instruction, decoding, op, ternary<FmaWidened, float, Half>,
                         ternary<FmaWidened, float, BFloat>);
  }
  ModifierList words(instruction, decoding);
  decodeRounded(instruction, decoding, op, 4, ternaryModes<FusedMultiplyAdd>,
                ternary<FusedMultiplyAdd, double, double>, words);
}

/// div, rcp and sqrt: `.approx` and `.full` may be as good as the exact forms.
template <class F>
void decodeQuotient(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const bool approximate = words.takeOneOf({"approx", "full"}) >= 0;
  if (!approximate && !instruction.has("rn") && !instruction.has("rz") &&
      !instruction.has("rm") && !instruction.has("rp")) {
    decoding.refuse("needs .approx or a rounding");
  }
  if (approximate && instruction.type == Type::F64) {
    return decodeTranscendental(instruction, decoding, op);
  }
  if constexpr (std::is_same_v<F, DivideFloat>) {
    decodeRounded(instruction, decoding, op, 3, binaryModes<F>, binary<F, double, double>, words);
  } else {
    decodeRounded(instruction, decoding, op, 2, unaryModes<F>, unary<F, double, double>, words);
  }
}

template <class F>
void decodeSign(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 2);
  const bool ftz = type == Type::F32 && words.take("ftz");
  setLanewise(op, type == Type::F64 ? unary<F, double, double> : unaryModes<F>[ftz][0],
              ptx::bitsOf(type));
  words.end();
}

void decodeCopySign(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 3);
  setLanewise(op, type == Type::F64 ? binary<CopySign, double, double>
                                    : binary<CopySign, float, float>, ptx::bitsOf(type));
  words.end();
}

template <class F>
Handler extremumOfTwo(bool ftz, bool xorSign) {
  const Handler handlers[2][2] = {
      {binary<F, float, float>, binary<XorSign<F>, float, float>},
      {binary<Modified<F, true, false>, float, float>,
       binary<Modified<XorSign<F>, true, false>, float, float>}};
  return handlers[ftz][xorSign];
}

template <class F>
Handler extremumOfThree(bool ftz, bool absolute) {
  using Three = OfThree<F>;
  using Magnitudes = OfMagnitudes<Three>;
  const Handler handlers[2][2] = {
      {ternary<Three, float, float>, ternary<Magnitudes, float, float>},
      {ternary<Modified<Three, true, false>, float, float>,
       ternary<Modified<Magnitudes, true, false>, float, float>}};
  return handlers[ftz][absolute];
}

template <bool greater>
void decodeExtremum(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  if (type == Type::F64) {
    sameSlots(instruction, decoding, op, 64, 3);
    setLanewise(op, binary<ExtremumFloat<greater, false>, double, double>, 64);
    return words.end();
  }
  const bool three = instruction.operands.size() == 4;
  sameSlots(instruction, decoding, op, 32, three ? 4 : 3);
  const bool ftz = words.take("ftz"), propagate = words.take("NaN");
  const bool xorSign = !three && words.take("xorsign");
  const bool absolute = words.take("abs");
  if (!three && xorSign != absolute) decoding.refuse(".xorsign and .abs go together");
  using Number = ExtremumFloat<greater, false>;
  using Nan = ExtremumFloat<greater, true>;
  if (three) {
    setLanewise(op, propagate ? extremumOfThree<Nan>(ftz, absolute)
                              : extremumOfThree<Number>(ftz, absolute), 32);
  } else {
    setLanewise(op, propagate ? extremumOfTwo<Nan>(ftz, xorSign)
                              : extremumOfTwo<Number>(ftz, xorSign), 32);
  }
  words.end();
}

}  // namespace

void decodeFloatArithmetic(const Instruction& instruction, Decoding& decoding, Op& op) {
  static const std::unordered_map<std::string, Decoder> decoders = {
      {"add", decodeAdd},
      {"sub", decodeSubtract},
      {"mul", decodeMultiply},
      {"fma", decodeFma},
      {"mad", decodeFma},
      {"div", decodeQuotient<DivideFloat>},
      {"rcp", decodeQuotient<Reciprocal>},
      {"sqrt", decodeQuotient<SquareRoot>},
      {"neg", decodeSign<NegateFloat>},
      {"abs", decodeSign<AbsoluteFloat>},
      {"copysign", decodeCopySign},
      {"min", decodeExtremum<false>},
      {"max", decodeExtremum<true>},
  };
  const auto found = decoders.find(instruction.opcode);
  if (found == decoders.end()) decoding.refuse("does not exist for this type");
  found->second(instruction, decoding, op);
}

}  // namespace sgpu
