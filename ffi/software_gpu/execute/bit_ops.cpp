#include "bit_operations.h"

#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"
#include "permute.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

void finish(Op& op, Handler handler, unsigned bits, ModifierList& words, Decoding& decoding) {
  if (!handler) decoding.refuse("does not exist for this type");
  setLanewise(op, handler, bits);
  words.end();
}

/// Predicates: `variant` says what is combined, slots[4] and slots[5] what is negated.
template <class F>
void combinePredicates(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t a = warp.predicates[op.slots[1]] ^ op.slots[4];
  const uint32_t b = warp.predicates[op.slots[2]] ^ op.slots[5];
  setPredicate(warp, op.slots[0], F::of(a, b), mask);
}

template <class F>
void decodeLogic(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const auto& operands = instruction.operands;
  if (type == Type::Pred) {
    takeOperands(instruction, decoding, 3, 3);
    for (unsigned i = 0; i < 3; i++) op.slots[i] = decoding.predicate(operands[i]);
    op.slots[4] = negationOf(operands[1]);
    op.slots[5] = negationOf(operands[2]);
    op.full = op.partial = combinePredicates<F>;
    return words.end();
  }
  const unsigned bits = ptx::bitsOf(type);
  sameSlots(instruction, decoding, op, bits, 3);
  finish(op, bits == 64 ? binary<F, uint64_t, uint64_t> : binary<F, uint32_t, uint32_t>, bits,
         words, decoding);
}

template <class F>
Handler unaryBits(unsigned bits) {
  switch (bits) {
    case 16: return unary<F, uint16_t, uint16_t>;
    case 32: return unary<F, uint32_t, uint32_t>;
    case 64: return unary<F, uint64_t, uint64_t>;
    default: return nullptr;
  }
}

template <class F>
void decodeNot(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  if (type == Type::Pred && instruction.opcode == "not") {
    takeOperands(instruction, decoding, 2, 2);
    op.slots[0] = decoding.predicate(instruction.operands[0]);
    op.slots[1] = op.slots[2] = decoding.predicate(instruction.operands[1]);
    op.slots[4] = op.slots[5] = ~negationOf(instruction.operands[1]);
    op.full = op.partial = combinePredicates<And>;
    return words.end();
  }
  const unsigned bits = ptx::bitsOf(type);
  sameSlots(instruction, decoding, op, bits, 2);
  finish(op, unaryBits<F>(bits), bits, words, decoding);
}

Handler shiftRight(Type type) {
  switch (type) {
    case Type::B16: case Type::U16: return binary<ShiftRight, uint16_t, uint16_t, uint32_t>;
    case Type::B32: case Type::U32: return binary<ShiftRight, uint32_t, uint32_t, uint32_t>;
    case Type::B64: case Type::U64: return binary<ShiftRight, uint64_t, uint64_t, uint32_t>;
    case Type::S16: return binary<ShiftRight, int16_t, int16_t, uint32_t>;
    case Type::S32: return binary<ShiftRight, int32_t, int32_t, uint32_t>;
    case Type::S64: return binary<ShiftRight, int64_t, int64_t, uint32_t>;
    default: return nullptr;
  }
}

Handler shiftLeft(Type type) {
  switch (ptx::bitsOf(type)) {
    case 16: return binary<ShiftLeft, uint16_t, uint16_t, uint32_t>;
    case 32: return binary<ShiftLeft, uint32_t, uint32_t, uint32_t>;
    case 64: return binary<ShiftLeft, uint64_t, uint64_t, uint32_t>;
    default: return nullptr;
  }
}

template <Handler choose(Type)>
void decodeShift(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  takeOperands(instruction, decoding, 3, 3);
  for (unsigned i = 0; i < 3; i++) {
    op.slots[i] = decoding.slot(instruction.operands[i], i < 2 ? bits : 32);
  }
  finish(op, choose(type), bits, words, decoding);
}

void decodeFunnelShift(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const int direction = words.takeOneOf({"l", "r"});
  const int mode = words.takeOneOf({"clamp", "wrap"});
  if (direction < 0 || mode < 0) decoding.refuse("is .l or .r, and .clamp or .wrap");
  words.takeType();
  sameSlots(instruction, decoding, op, 32, 4);
  const Handler handlers[2][2] = {
      {ternary<FunnelShift<true, false>, uint32_t, uint32_t>,
       ternary<FunnelShift<true, true>, uint32_t, uint32_t>},
      {ternary<FunnelShift<false, false>, uint32_t, uint32_t>,
       ternary<FunnelShift<false, true>, uint32_t, uint32_t>}};
  finish(op, handlers[direction][mode], 32, words, decoding);
}

void decodeExtract(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  takeOperands(instruction, decoding, 4, 4);
  for (unsigned i = 0; i < 4; i++) {
    op.slots[i] = decoding.slot(instruction.operands[i], i < 2 ? bits : 32);
  }
  Handler handler = nullptr;
  if (type == Type::U32) handler = ternary<ExtractField, uint32_t, uint32_t, uint32_t, uint32_t>;
  if (type == Type::S32) handler = ternary<ExtractField, int32_t, int32_t, uint32_t, uint32_t>;
  if (type == Type::U64) handler = ternary<ExtractField, uint64_t, uint64_t, uint32_t, uint32_t>;
  if (type == Type::S64) handler = ternary<ExtractField, int64_t, int64_t, uint32_t, uint32_t>;
  finish(op, handler, bits, words, decoding);
}

template <class T>
void insertField(const Op& op, Warp& warp, uint32_t) {
  T* d = lanes<T>(op, warp, 0);
  const T* a = lanes<T>(op, warp, 1);
  const T* b = lanes<T>(op, warp, 2);
  const auto* position = lanes<uint32_t>(op, warp, 3);
  const auto* length = lanes<uint32_t>(op, warp, 4);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    d[i] = InsertField::of(a[i], b[i], position[i], length[i]);
  }
}

void decodeInsert(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const unsigned bits = ptx::bitsOf(words.takeType());
  takeOperands(instruction, decoding, 5, 5);
  for (unsigned i = 0; i < 5; i++) {
    op.slots[i] = decoding.slot(instruction.operands[i], i < 3 ? bits : 32);
  }
  finish(op, bits == 64 ? insertField<uint64_t> : insertField<uint32_t>, bits, words, decoding);
}

/// A 32-bit result whatever the operand's width.
template <class F>
void decodeCount(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const unsigned bits = ptx::bitsOf(words.takeType());
  takeOperands(instruction, decoding, 2, 2);
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[1] = decoding.slot(instruction.operands[1], bits);
  finish(op, bits == 64 ? unary<F, uint32_t, uint64_t> : unary<F, uint32_t, uint32_t>, 32, words,
         decoding);
}

template <class F>
Handler findHighest(Type type) {
  switch (type) {
    case Type::U32: return unary<F, uint32_t, uint32_t>;
    case Type::S32: return unary<F, uint32_t, int32_t>;
    case Type::U64: return unary<F, uint32_t, uint64_t>;
    case Type::S64: return unary<F, uint32_t, int64_t>;
    default: return nullptr;
  }
}

void decodeFindHighest(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const bool asShift = words.take("shiftamt");
  const Type type = words.takeType();
  takeOperands(instruction, decoding, 2, 2);
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[1] = decoding.slot(instruction.operands[1], ptx::bitsOf(type));
  finish(op, asShift ? findHighest<FindHighest<true>>(type) : findHighest<FindHighest<false>>(type),
         32, words, decoding);
}

/// Any function of three bits, by its table of eight.
void tableOfThree(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<uint32_t>(op, warp, 0);
  const auto* a = lanes<uint32_t>(op, warp, 1);
  const auto* b = lanes<uint32_t>(op, warp, 2);
  const auto* c = lanes<uint32_t>(op, warp, 3);
  uint32_t wanted[8];
  for (unsigned row = 0; row < 8; row++) wanted[row] = -(op.variant >> row & 1u);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    const uint32_t x = a[i], y = b[i], z = c[i];
    const uint32_t low = (~y & ((~z & wanted[0]) | (z & wanted[1]))) |
                         (y & ((~z & wanted[2]) | (z & wanted[3])));
    const uint32_t high = (~y & ((~z & wanted[4]) | (z & wanted[5]))) |
                          (y & ((~z & wanted[6]) | (z & wanted[7])));
    d[i] = (~x & low) | (x & high);
  }
}

void decodeTable(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  words.takeType();
  takeOperands(instruction, decoding, 5, 5);
  for (unsigned i = 0; i < 4; i++) op.slots[i] = decoding.slot(instruction.operands[i], 32);
  const ptx::Operand& table = instruction.operands[4];
  if (table.kind != ptx::Operand::Kind::Immediate || table.bits > 255) {
    decoding.refuse("the table is an immediate from 0 to 255");
  }
  op.variant = static_cast<uint8_t>(table.bits);
  finish(op, tableOfThree, 32, words, decoding);
}

void decodeFindNth(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  words.takeType();
  sameSlots(instruction, decoding, op, 32, 4);
  finish(op, ternary<FindNthSet, uint32_t, uint32_t, uint32_t, int32_t>, 32, words, decoding);
}

void decodeExtend(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const int mode = words.takeOneOf({"clamp", "wrap"});
  if (mode < 0) decoding.refuse("is .clamp or .wrap");
  const bool isSigned = words.takeType() == Type::S32;
  sameSlots(instruction, decoding, op, 32, 3);
  const Handler handlers[2][2] = {{binary<ExtendFrom<false>, uint32_t, uint32_t>,
                                   binary<ExtendFrom<false>, int32_t, int32_t, uint32_t>},
                                  {binary<ExtendFrom<true>, uint32_t, uint32_t>,
                                   binary<ExtendFrom<true>, int32_t, int32_t, uint32_t>}};
  finish(op, handlers[mode][isSigned], 32, words, decoding);
}

void decodeMask(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const int mode = words.takeOneOf({"clamp", "wrap"});
  if (mode < 0) decoding.refuse("is .clamp or .wrap");
  words.takeType();
  sameSlots(instruction, decoding, op, 32, 3);
  finish(op, mode ? binary<BitMask<true>, uint32_t, uint32_t>
                  : binary<BitMask<false>, uint32_t, uint32_t>, 32, words, decoding);
}

void decodePermute(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  words.takeType();
  const int mode = words.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  sameSlots(instruction, decoding, op, 32, 4);
  finish(op, permuteHandler(mode), 32, words, decoding);
}

}  // namespace

std::vector<OpcodeRow> bitOpcodes() {
  return {
      {"and", decodeLogic<And>},
      {"or", decodeLogic<Or>},
      {"xor", decodeLogic<Xor>},
      {"not", decodeNot<Not>},
      {"cnot", decodeNot<LogicalNot>},
      {"shl", decodeShift<shiftLeft>},
      {"shr", decodeShift<shiftRight>},
      {"shf", decodeFunnelShift},
      {"bfe", decodeExtract},
      {"bfi", decodeInsert},
      {"bfind", decodeFindHighest},
      {"popc", decodeCount<CountOnes>},
      {"clz", decodeCount<LeadingZeros>},
      {"brev", decodeNot<Reverse>},
      {"prmt", decodePermute},
      {"lop3", decodeTable},
      {"fns", decodeFindNth},
      {"szext", decodeExtend},
      {"bmsk", decodeMask},
  };
}

}  // namespace sgpu
