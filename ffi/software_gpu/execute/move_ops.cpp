/// mov and cvta.
#include "move_ops.h"

#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"
#include "special_registers.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

template <class T>
void move(const Op& op, Warp& warp, uint32_t) {
  std::memmove(lanes<T>(op, warp, 0), lanes<T>(op, warp, 1), kWarpLanes * sizeof(T));
}

void movePredicate(const Op& op, Warp& warp, uint32_t mask) {
  setPredicate(warp, op.slots[0], warp.predicates[op.slots[1]] ^ op.slots[2], mask);
}

/// Of a register that changes by itself.
template <class T>
void moveSpecial(const Op& op, Warp& warp, uint32_t mask) {
  T* d = lanes<T>(op, warp, 0);
  const auto read = reinterpret_cast<SpecialRead>(op.immediate);
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    d[lane] = static_cast<T>(read(warp, lane));
  }
}

/// `variant` elements in slots[1...] become one value, the first lowest.
template <class T>
void pack(const Op& op, Warp& warp, uint32_t) {
  constexpr unsigned all = 8 * sizeof(T);
  const unsigned bits = all / op.variant;
  const T element = (T{1} << bits) - 1;
  T packed[kWarpLanes] = {};
  for (unsigned i = 0; i < op.variant; i++) {
    const auto* a = lanes<uint32_t>(op, warp, 1 + i);
    for (unsigned lane = 0; lane < kWarpLanes; lane++) {
      packed[lane] |= (a[lane] & element) << (i * bits);
    }
  }
  std::memcpy(lanes<T>(op, warp, 0), packed, sizeof packed);
}

/// The other way: slots[0] falls into `variant` elements, for each lane of the mask.
template <class T>
void unpack(const Op& op, Warp& warp, uint32_t mask) {
  constexpr unsigned all = 8 * sizeof(T);
  const unsigned bits = all / op.variant;
  const T element = (T{1} << bits) - 1;
  T whole[kWarpLanes];
  std::memcpy(whole, lanes<T>(op, warp, 0), sizeof whole);
  const int32_t* selected = warp.laneMask(mask);
  for (unsigned i = 0; i < op.variant; i++) {
    auto* d = lanes<uint32_t>(op, warp, 1 + i);
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpLanes; lane++) {
      const auto value = static_cast<uint32_t>(whole[lane] >> (i * bits) & element);
      d[lane] = selected[lane] ? value : d[lane];
    }
  }
}

/// A 128-bit register is two of 64.
void pack128(const Op& op, Warp& warp, uint32_t mask) {
  auto* d = lanes<uint64_t>(op, warp, 0);
  const auto* low = lanes<uint64_t>(op, warp, 1);
  const auto* high = lanes<uint64_t>(op, warp, 2);
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    const uint64_t first = low[lane], second = high[lane];
    d[2 * lane] = first;
    d[2 * lane + 1] = second;
  }
}
void unpack128(const Op& op, Warp& warp, uint32_t mask) {
  const auto* a = lanes<uint64_t>(op, warp, 0);
  auto* low = lanes<uint64_t>(op, warp, 1);
  auto* high = lanes<uint64_t>(op, warp, 2);
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    const uint64_t first = a[2 * lane], second = a[2 * lane + 1];
    low[lane] = first;
    high[lane] = second;
  }
}
void move128(const Op& op, Warp& warp, uint32_t mask) {
  auto* d = lanes<uint64_t>(op, warp, 0);
  const auto* a = lanes<uint64_t>(op, warp, 1);
  for (; mask; mask &= mask - 1) {
    std::memmove(d + 2 * __builtin_ctz(mask), a + 2 * __builtin_ctz(mask), 16);
  }
}

void decodeVector(const Operand& whole, const Operand& vector, bool packs, unsigned bits,
                  Decoding& decoding, Op& op) {
  const size_t count = vector.elements.size();
  if ((count != 2 && count != 4) || bits / count < 8 || (bits == 128 && count != 2)) {
    decoding.refuse("a vector of 2 or 4 elements, of 8 bits or more, makes up a register");
  }
  op.variant = static_cast<uint8_t>(count);
  op.slots[0] = decoding.slot(whole, bits);
  for (size_t i = 0; i < count; i++) {
    op.slots[1 + i] = decoding.slot(vector.elements[i], bits / count);
  }
  if (bits == 128) {
    op.full = op.partial = packs ? pack128 : unpack128;
  } else if (packs) {
    setLanewise(op, bits == 64 ? pack<uint64_t> : pack<uint32_t>, bits);
    if (bits == 16) op.full = pack<uint16_t>;
  } else {
    op.full = op.partial = bits == 64 ? unpack<uint64_t> : unpack<uint32_t>;
  }
}

void decodeMove(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  words.end();
  takeOperands(instruction, decoding, 2, 2);
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  const unsigned bits = ptx::bitsOf(type);
  if (type == Type::Pred) {
    op.slots[0] = decoding.predicate(to);
    op.slots[1] = decoding.predicate(from);
    op.slots[2] = negationOf(from);
    op.full = op.partial = movePredicate;
    return;
  }
  if (bits < 16) decoding.refuse("does not exist for this type");
  if (from.kind == Operand::Kind::Vector) return decodeVector(to, from, true, bits, decoding, op);
  if (to.kind == Operand::Kind::Vector) return decodeVector(from, to, false, bits, decoding, op);
  op.slots[0] = decoding.slot(to, bits);
  const char* special = decoding.special(from);
  const SpecialRegister* known = special ? specialRegister(special) : nullptr;
  if (special && !known) decoding.refuse("names no special register that is known");
  if (known && known->changes == SpecialRegister::Changes::Always) {
    op.immediate = reinterpret_cast<int64_t>(known->read);
    op.full = op.partial = bits == 64 ? moveSpecial<uint64_t> : moveSpecial<uint32_t>;
    return;
  }
  op.slots[1] = decoding.slot(from, bits);
  if (bits == 128) {
    op.full = op.partial = move128;
  } else {
    setLanewise(op, bits == 64 ? move<uint64_t> : move<uint32_t>, bits);
  }
}

/// Adds to an address where its space begins among the generic ones; with `variant` subtracts it.
template <Space space>
void convertAddress(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<uint64_t>(op, warp, 0);
  const auto* a = lanes<uint64_t>(op, warp, 1);
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    const uint8_t* base = nullptr;
    if (space == Space::Shared) base = warp.shared;
    if (space == Space::Local) base = warp.local(lane);
    if (space == Space::Param) base = warp.params;
    const auto begin = reinterpret_cast<uint64_t>(base);
    d[lane] = op.variant ? a[lane] - begin : a[lane] + begin;
  }
}

void decodeAddress(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  op.variant = words.take("to");
  const Space space = spaceOf(instruction);
  words.takeOneOf({"global", "shared", "shared::cta", "shared::cluster", "local", "const",
                   "param", "param::entry"});
  if (ptx::bitsOf(words.takeType()) != 64) decoding.refuse("addresses have 64 bits");
  words.end();
  sameSlots(instruction, decoding, op, 64, 2);
  if (space == Space::Generic) decoding.refuse("names no state space");
  switch (space) {
    case Space::Shared: return setLanewise(op, convertAddress<Space::Shared>, 64);
    case Space::Local: return setLanewise(op, convertAddress<Space::Local>, 64);
    case Space::Param: return setLanewise(op, convertAddress<Space::Param>, 64);
    default: return setLanewise(op, move<uint64_t>, 64);
  }
}

}  // namespace

std::vector<OpcodeRow> moveOpcodes() { return {{"mov", decodeMove}, {"cvta", decodeAddress}}; }

}  // namespace sgpu
