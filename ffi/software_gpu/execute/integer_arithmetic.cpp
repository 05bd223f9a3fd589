#include <unordered_map>

#include "arithmetic.h"
#include "integer_operations.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

/// For instructions whose result depends on the sign.
template <class F>
Handler anyBinary(Type type) {
  switch (type) {
    case Type::U16: return binary<F, uint16_t, uint16_t>;
    case Type::S16: return binary<F, int16_t, int16_t>;
    case Type::U32: return binary<F, uint32_t, uint32_t>;
    case Type::S32: return binary<F, int32_t, int32_t>;
    case Type::U64: return binary<F, uint64_t, uint64_t>;
    case Type::S64: return binary<F, int64_t, int64_t>;
    default: return nullptr;
  }
}

/// For those where it does not.
template <class F>
Handler wrappingBinary(Type type) {
  switch (ptx::bitsOf(type)) {
    case 16: return binary<F, uint16_t, uint16_t>;
    case 32: return binary<F, uint32_t, uint32_t>;
    case 64: return binary<F, uint64_t, uint64_t>;
    default: return nullptr;
  }
}

template <class F>
Handler signedUnary(Type type) {
  switch (type) {
    case Type::S16: return unary<F, int16_t, int16_t>;
    case Type::S32: return unary<F, int32_t, int32_t>;
    case Type::S64: return unary<F, int64_t, int64_t>;
    default: return nullptr;
  }
}

template <class F>
Handler anyTernary(Type type) {
  switch (type) {
    case Type::U16: return ternary<F, uint16_t, uint16_t>;
    case Type::S16: return ternary<F, int16_t, int16_t>;
    case Type::U32: return ternary<F, uint32_t, uint32_t>;
    case Type::S32: return ternary<F, int32_t, int32_t>;
    case Type::U64: return ternary<F, uint64_t, uint64_t>;
    case Type::S64: return ternary<F, int64_t, int64_t>;
    default: return nullptr;
  }
}

template <class F>
Handler wrappingTernary(Type type) {
  switch (ptx::bitsOf(type)) {
    case 16: return ternary<F, uint16_t, uint16_t>;
    case 32: return ternary<F, uint32_t, uint32_t>;
    case 64: return ternary<F, uint64_t, uint64_t>;
    default: return nullptr;
  }
}

Handler wideMultiply(Type type) {
  switch (type) {
    case Type::U16: return binary<MultiplyWide, uint32_t, uint16_t>;
    case Type::S16: return binary<MultiplyWide, int32_t, int16_t>;
    case Type::U32: return binary<MultiplyWide, uint64_t, uint32_t>;
    case Type::S32: return binary<MultiplyWide, int64_t, int32_t>;
    default: return nullptr;
  }
}

Handler wideMultiplyAdd(Type type) {
  using F = MultiplyAdd<MultiplyWide>;
  switch (type) {
    case Type::U16: return ternary<F, uint32_t, uint16_t>;
    case Type::S16: return ternary<F, int32_t, int16_t>;
    case Type::U32: return ternary<F, uint64_t, uint32_t>;
    case Type::S32: return ternary<F, int64_t, int32_t>;
    default: return nullptr;
  }
}

/// Slots of a product and what it is made of, and of the number it is added to.
void productSlots(const Instruction& instruction, Decoding& decoding, Op& op, unsigned bits,
                  unsigned resultBits, size_t operands) {
  takeOperands(instruction, decoding, operands, operands);
  for (size_t i = 0; i < operands; i++) {
    const bool isFactor = i == 1 || i == 2;
    op.slots[i] = decoding.slot(instruction.operands[i], isFactor ? bits : resultBits);
  }
}

void finish(Op& op, Handler handler, unsigned bits, ModifierList& words, Decoding& decoding) {
  if (!handler) decoding.refuse("does not exist for this type");
  setLanewise(op, handler, bits);
  words.end();
}

template <class F, class Saturating>
void decodeSum(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  if (words.takeOneOf({"u16x2", "s16x2"}) >= 0) {
    sameSlots(instruction, decoding, op, 32, 3);
    return finish(op, binary<InHalves<F, uint16_t>, uint32_t, uint32_t>, 32, words, decoding);
  }
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 3);
  Handler handler = wrappingBinary<F>(type);
  if (words.take("sat")) {
    handler = type == Type::S32 ? binary<Saturating, int32_t, int32_t> : nullptr;
  }
  finish(op, handler, ptx::bitsOf(type), words, decoding);
}

void decodeMultiply(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  const int part = words.takeOneOf({"lo", "hi", "wide"});
  if (part < 0) decoding.refuse("gives .lo, .hi or .wide of a product");
  productSlots(instruction, decoding, op, bits, part == 2 ? 2 * bits : bits, 3);
  if (part == 2) {
    return finish(op, wideMultiply(type), 2 * bits, words, decoding);
  }
  finish(op, part ? anyBinary<MultiplyHigh>(type) : wrappingBinary<MultiplyLow>(type), bits, words,
         decoding);
}

void decodeMultiplyAdd(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  const int part = words.takeOneOf({"lo", "hi", "wide"});
  if (part < 0) decoding.refuse("adds to .lo, .hi or .wide of a product");
  productSlots(instruction, decoding, op, bits, part == 2 ? 2 * bits : bits, 4);
  if (part == 2) {
    return finish(op, wideMultiplyAdd(type), 2 * bits, words, decoding);
  }
  Handler handler = part ? anyTernary<MultiplyAdd<MultiplyHigh>>(type)
                         : wrappingTernary<MultiplyAdd<MultiplyLow>>(type);
  if (words.take("sat")) {
    handler = part == 1 && type == Type::S32
                  ? ternary<MultiplyHighAddSaturating, int32_t, int32_t>
                  : nullptr;
  }
  finish(op, handler, bits, words, decoding);
}

template <template <bool> class Operation>
void decode24(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const int part = words.takeOneOf({"lo", "hi"});
  if (part < 0) decoding.refuse("gives .lo or .hi");
  if (type != Type::U32 && type != Type::S32) decoding.refuse("does not exist for this type");
  const bool isSigned = type == Type::S32;
  const bool adds = instruction.opcode == "mad24";
  sameSlots(instruction, decoding, op, 32, adds ? 4 : 3);
  using Low = Operation<false>;
  using High = Operation<true>;
  const Handler handlers[2][2][2] = {
      {{binary<Low, uint32_t, uint32_t>, binary<Low, int32_t, int32_t>},
       {binary<High, uint32_t, uint32_t>, binary<High, int32_t, int32_t>}},
      {{ternary<MultiplyAdd<Low>, uint32_t, uint32_t>, ternary<MultiplyAdd<Low>, int32_t, int32_t>},
       {ternary<MultiplyAdd<High>, uint32_t, uint32_t>,
        ternary<MultiplyAdd<High>, int32_t, int32_t>}}};
  finish(op, handlers[adds][part][isSigned], 32, words, decoding);
}

template <class F>
void decodeAnyBinary(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 3);
  finish(op, anyBinary<F>(type), ptx::bitsOf(type), words, decoding);
}

template <class F>
void decodeExtremum(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const bool relu = words.take("relu");
  const int packed = words.takeOneOf({"u16x2", "s16x2"});
  const Type type = packed >= 0 ? Type::B32 : words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 3);
  Handler handler = anyBinary<F>(type);
  if (packed == 0) handler = binary<InHalves<F, uint16_t>, uint32_t, uint32_t>;
  if (packed == 1) handler = binary<InHalves<F, int16_t>, uint32_t, uint32_t>;
  if (relu) {
    handler = packed == 1         ? binary<InHalves<Relu<F>, int16_t>, uint32_t, uint32_t>
              : type == Type::S32 ? binary<Relu<F>, int32_t, int32_t>
                                  : nullptr;
  }
  finish(op, handler, ptx::bitsOf(type), words, decoding);
}

template <class F>
void decodeSignedUnary(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 2);
  finish(op, signedUnary<F>(type), ptx::bitsOf(type), words, decoding);
}

void decodeSad(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 4);
  finish(op, anyTernary<SumOfDifferences>(type), ptx::bitsOf(type), words, decoding);
}

template <class F>
constexpr Handler dot = ternary<F, uint32_t, uint32_t>;

void decodeDot4(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const bool signedA = words.takeType() == Type::S32, signedB = words.takeType() == Type::S32;
  sameSlots(instruction, decoding, op, 32, 4);
  const Handler handlers[2][2] = {
      {dot<DotProduct4<uint8_t, uint8_t>>, dot<DotProduct4<uint8_t, int8_t>>},
      {dot<DotProduct4<int8_t, uint8_t>>, dot<DotProduct4<int8_t, int8_t>>}};
  finish(op, handlers[signedA][signedB], 32, words, decoding);
}

template <bool high>
Handler dot2(bool signedA, bool signedB) {
  const Handler handlers[2][2] = {
      {dot<DotProduct2<uint16_t, uint8_t, high>>, dot<DotProduct2<uint16_t, int8_t, high>>},
      {dot<DotProduct2<int16_t, uint8_t, high>>, dot<DotProduct2<int16_t, int8_t, high>>}};
  return handlers[signedA][signedB];
}

void decodeDot2(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const bool signedA = words.takeType() == Type::S32, signedB = words.takeType() == Type::S32;
  const int part = words.takeOneOf({"lo", "hi"});
  if (part < 0) decoding.refuse("takes the .lo or the .hi bytes");
  sameSlots(instruction, decoding, op, 32, 4);
  finish(op, part ? dot2<true>(signedA, signedB) : dot2<false>(signedA, signedB), 32, words,
         decoding);
}

}  // namespace

void decodeIntegerArithmetic(const Instruction& instruction, Decoding& decoding, Op& op) {
  static const std::unordered_map<std::string, Decoder> decoders = {
      {"add", decodeSum<Add, AddSaturating>},
      {"sub", decodeSum<Subtract, SubtractSaturating>},
      {"mul", decodeMultiply},
      {"mad", decodeMultiplyAdd},
      {"mul24", decode24<Multiply24>},
      {"mad24", decode24<Multiply24>},
      {"div", decodeAnyBinary<Divide>},
      {"rem", decodeAnyBinary<Remainder>},
      {"min", decodeExtremum<Minimum>},
      {"max", decodeExtremum<Maximum>},
      {"neg", decodeSignedUnary<Negate>},
      {"abs", decodeSignedUnary<Absolute>},
      {"sad", decodeSad},
      {"dp4a", decodeDot4},
      {"dp2a", decodeDot2},
  };
  const auto found = decoders.find(instruction.opcode);
  if (found == decoders.end()) decoding.refuse("does not exist for this type");
  found->second(instruction, decoding, op);
}

}  // namespace sgpu
