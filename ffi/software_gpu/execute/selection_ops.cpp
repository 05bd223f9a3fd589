/// One of two values, and what kind of float a value is.
#include "selection_ops.h"

#include <cmath>

#include "float_operations.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

/// d = predicate ? a : b
template <class T>
void selectByPredicate(const Op& op, Warp& warp, uint32_t) {
  T* d = lanes<T>(op, warp, 0);
  const T* a = lanes<T>(op, warp, 1);
  const T* b = lanes<T>(op, warp, 2);
  const uint32_t chosen = warp.predicates[op.slots[3]] ^ op.slots[4];
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) d[i] = chosen >> i & 1 ? a[i] : b[i];
}

void decodeSelp(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const unsigned bits = ptx::bitsOf(words.takeType());
  if (bits < 16 || bits > 64) decoding.refuse("does not exist for this type");
  takeOperands(instruction, decoding, 4, 4);
  const auto& operands = instruction.operands;
  for (unsigned i = 0; i < 3; i++) op.slots[i] = decoding.slot(operands[i], bits);
  op.slots[3] = decoding.predicate(operands[3]);
  op.slots[4] = negationOf(operands[3]);
  setLanewise(op, bits == 64 ? selectByPredicate<uint64_t> : selectByPredicate<uint32_t>, bits);
  words.end();
}

/// d = c >= 0 ? a : b
struct SelectBySign {
  template <class T, class C> static T of(T a, T b, C c) { return c >= 0 ? a : b; }
};
struct SelectByFlushedSign {
  template <class T> static T of(T a, T b, float c) { return flush(c) >= 0 ? a : b; }
};

void decodeSlct(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const unsigned bits = ptx::bitsOf(words.takeType());
  const Type sign = words.takeType();
  const bool ftz = sign == Type::F32 && words.take("ftz");
  if (sign != Type::S32 && sign != Type::F32) decoding.refuse("selects by .s32 or .f32");
  takeOperands(instruction, decoding, 4, 4);
  for (unsigned i = 0; i < 4; i++) {
    op.slots[i] = decoding.slot(instruction.operands[i], i < 3 ? bits : 32);
  }
  const Handler handlers[3][2] = {
      {ternary<SelectBySign, uint32_t, uint32_t, uint32_t, int32_t>,
       ternary<SelectBySign, uint64_t, uint64_t, uint64_t, int32_t>},
      {ternary<SelectBySign, uint32_t, uint32_t, uint32_t, float>,
       ternary<SelectBySign, uint64_t, uint64_t, uint64_t, float>},
      {ternary<SelectByFlushedSign, uint32_t, uint32_t, uint32_t, float>,
       ternary<SelectByFlushedSign, uint64_t, uint64_t, uint64_t, float>}};
  setLanewise(op, handlers[ftz ? 2 : sign == Type::F32][bits == 64], bits);
  words.end();
}

template <class T>
bool hasProperty(T value, int property) {
  switch (property) {
    case 0: return std::isfinite(value);
    case 1: return std::isinf(value);
    case 2: return !std::isnan(value);
    case 3: return std::isnan(value);
    case 4: return std::isnormal(value);
    default: return std::fpclassify(value) == FP_SUBNORMAL;
  }
}

template <class T>
void testProperty(const Op& op, Warp& warp, uint32_t mask) {
  const T* a = lanes<T>(op, warp, 1);
  uint32_t found = 0;
  for (unsigned i = 0; i < kWarpLanes; i++) {
    found |= static_cast<uint32_t>(hasProperty(a[i], op.variant)) << i;
  }
  setPredicate(warp, op.slots[0], found, mask);
}

void decodeTestp(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const int property = words.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (property < 0) decoding.refuse("tests no property that is known");
  takeOperands(instruction, decoding, 2, 2);
  op.variant = static_cast<uint8_t>(property);
  op.slots[0] = decoding.predicate(instruction.operands[0]);
  op.slots[1] = decoding.slot(instruction.operands[1], ptx::bitsOf(type));
  op.full = op.partial = type == Type::F64 ? testProperty<double> : testProperty<float>;
  words.end();
}

}  // namespace

std::vector<OpcodeRow> selectionOpcodes() {
  return {{"selp", decodeSelp}, {"slct", decodeSlct}, {"testp", decodeTestp}};
}

}  // namespace sgpu
