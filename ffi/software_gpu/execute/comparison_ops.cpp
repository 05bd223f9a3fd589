/// set and setp. Few comparisons are written out: the others are these with operands
/// swapped, or their opposites.
#include "float_operations.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"
#include "selection_ops.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

struct Equal { template <class T> static bool of(T a, T b) { return a == b; } };
struct Less { template <class T> static bool of(T a, T b) { return a < b; } };
struct LessEqual { template <class T> static bool of(T a, T b) { return a <= b; } };
/// Different, and neither is NaN.
struct Differ { template <class T> static bool of(T a, T b) { return a < b || a > b; } };
struct Ordered { template <class T> static bool of(T a, T b) { return a == a && b == b; } };

/// How slots become what is compared.
template <class T>
struct Whole {
  using Slot = SlotOf<T>;
  static T read(Slot slot) { return fromSlot<T>(slot); }
};
struct Flushed {
  using Slot = float;
  static float read(float slot) { return flush(slot); }
};
template <class H, unsigned shift, bool ftz>
struct Narrow {
  using Slot = uint32_t;
  static float read(uint32_t slot) {
    const H half = {static_cast<uint16_t>(slot >> shift)};
    const bool subnormal = !(half.bits & 0x7c00u);
    return widen(ftz && subnormal ? H{static_cast<uint16_t>(half.bits & 0x8000u)} : half);
  }
};

using Compare = uint32_t (*)(const Op& op, Warp& warp);

template <class Read, class F>
uint32_t compare(const Op& op, Warp& warp) {
  const auto* a = lanes<typename Read::Slot>(op, warp, 1);
  const auto* b = lanes<typename Read::Slot>(op, warp, 2);
  int32_t found[kWarpLanes];
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) found[i] = F::of(Read::read(a[i]), Read::read(b[i]));
  return maskOf(found);
}

struct Relation {
  const char* name;
  enum Base : uint8_t { Eq, Lt, Le, Ne, Num } base;
  bool swapped, opposite;
};

constexpr Relation kFloatRelations[] = {
    {"eq", Relation::Eq, false, false},  {"ne", Relation::Ne, false, false},
    {"lt", Relation::Lt, false, false},  {"le", Relation::Le, false, false},
    {"gt", Relation::Lt, true, false},   {"ge", Relation::Le, true, false},
    {"equ", Relation::Ne, false, true},  {"neu", Relation::Eq, false, true},
    {"ltu", Relation::Le, true, true},   {"leu", Relation::Lt, true, true},
    {"gtu", Relation::Le, false, true},  {"geu", Relation::Lt, false, true},
    {"num", Relation::Num, false, false}, {"nan", Relation::Num, false, true},
};
constexpr Relation kIntegerRelations[] = {
    {"eq", Relation::Eq, false, false}, {"ne", Relation::Eq, false, true},
    {"lt", Relation::Lt, false, false}, {"le", Relation::Lt, true, true},
    {"gt", Relation::Lt, true, false},  {"ge", Relation::Lt, false, true},
    {"lo", Relation::Lt, false, false}, {"ls", Relation::Lt, true, true},
    {"hi", Relation::Lt, true, false},  {"hs", Relation::Lt, false, true},
};

template <class Read>
Compare floatCompare(Relation::Base base) {
  const Compare compares[] = {compare<Read, Equal>, compare<Read, Less>, compare<Read, LessEqual>,
                              compare<Read, Differ>, compare<Read, Ordered>};
  return compares[base];
}

template <class T>
Compare integerCompare(Relation::Base base) {
  return base == Relation::Eq ? compare<Whole<std::make_unsigned_t<T>>, Equal>
                              : compare<Whole<T>, Less>;
}

/// @returns nullptr for a type without such a comparison. `shift` 16 is for upper halves.
template <unsigned shift>
Compare compareOf(Type type, Relation::Base base, bool ftz) {
  switch (type) {
    case Type::B16: case Type::U16: return integerCompare<uint16_t>(base);
    case Type::B32: case Type::U32: return integerCompare<uint32_t>(base);
    case Type::B64: case Type::U64: return integerCompare<uint64_t>(base);
    case Type::S16: return integerCompare<int16_t>(base);
    case Type::S32: return integerCompare<int32_t>(base);
    case Type::S64: return integerCompare<int64_t>(base);
    case Type::F32: return ftz ? floatCompare<Flushed>(base) : floatCompare<Whole<float>>(base);
    case Type::F64: return floatCompare<Whole<double>>(base);
    case Type::F16: case Type::F16x2:
      return ftz ? floatCompare<Narrow<Half, shift, true>>(base)
                 : floatCompare<Narrow<Half, shift, false>>(base);
    case Type::BF16: case Type::BF16x2:
      return floatCompare<Narrow<BFloat, shift, false>>(base);
    default: return nullptr;
  }
}

/// slots: 0 result, 1 and 2 operands, 3 predicate to combine with or kNoSlot, 4 second result or
/// kNoSlot, 5 negation of the predicate, 6 and 7 the comparison of the upper halves.
enum Combine : uint8_t { kAnd = 1, kOr = 2, kXor = 3, kOpposite = 4 };

uint32_t combine(const Op& op, const Warp& warp, uint32_t found) {
  if (op.slots[3] == kNoSlot) return found;
  const uint32_t other = warp.predicates[op.slots[3]] ^ op.slots[5];
  switch (op.variant & kXor) {
    case kAnd: return found & other;
    case kOr: return found | other;
    default: return found ^ other;
  }
}

uint32_t holds(const Op& op, Warp& warp) {
  const uint32_t found = reinterpret_cast<Compare>(op.immediate)(op, warp);
  return op.variant & kOpposite ? ~found : found;
}

uint32_t holdsOfUpper(const Op& op, Warp& warp) {
  const uint64_t address = op.slots[6] | static_cast<uint64_t>(op.slots[7]) << 32;
  const uint32_t found = reinterpret_cast<Compare>(address)(op, warp);
  return op.variant & kOpposite ? ~found : found;
}

void setPredicates(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t found = holds(op, warp);
  const uint32_t first = combine(op, warp, found);
  if (op.slots[4] != kNoSlot) {
    setPredicate(warp, op.slots[4], combine(op, warp, ~found), mask);
  }
  setPredicate(warp, op.slots[0], first, mask);
}

void setPredicatesOfHalves(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t low = combine(op, warp, holds(op, warp));
  const uint32_t high = combine(op, warp, holdsOfUpper(op, warp));
  setPredicate(warp, op.slots[0], low, mask);
  if (op.slots[4] != kNoSlot) setPredicate(warp, op.slots[4], high, mask);
}

/// `set`: slots[8] is what stands for true; of the upper half in slots[9].
void setWords(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t found = combine(op, warp, holds(op, warp));
  const uint32_t upper = op.slots[9] ? combine(op, warp, holdsOfUpper(op, warp)) : 0;
  auto* d = lanes<uint32_t>(op, warp, 0);
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    d[lane] = (found >> lane & 1 ? op.slots[8] : 0) | (upper >> lane & 1 ? op.slots[9] : 0);
  }
}

/// What `set` and `setp` have in common: relation, type, operands from the second on.
void decodeComparison(const Instruction& instruction, ModifierList& words, Type type,
                      Decoding& decoding, Op& op) {
  const bool isFloat = ptx::isFloat(type);
  const bool ftz = words.take("ftz");
  if (ftz && type != Type::F32 && type != Type::F16 && type != Type::F16x2) {
    decoding.refuse(".ftz goes with .f32 and .f16");
  }
  const Relation* relation = nullptr;
  const auto find = [&](const Relation* begin, const Relation* end) {
    for (const Relation* each = begin; each != end && !relation; each++) {
      if (words.take(each->name)) relation = each;
    }
  };
  if (isFloat) {
    find(std::begin(kFloatRelations), std::end(kFloatRelations));
  } else {
    find(std::begin(kIntegerRelations), std::end(kIntegerRelations));
  }
  if (!relation) decoding.refuse("names no comparison of this type");
  const Compare low = compareOf<0>(type, relation->base, ftz);
  const Compare high = compareOf<16>(type, relation->base, ftz);
  if (!low) decoding.refuse("does not exist for this type");
  op.immediate = reinterpret_cast<int64_t>(low);
  op.slots[6] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(high));
  op.slots[7] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(high) >> 32);
  const int combined = words.takeOneOf({"and", "or", "xor"});
  const auto& operands = instruction.operands;
  takeOperands(instruction, decoding, combined < 0 ? 3 : 4, combined < 0 ? 3 : 4);
  op.variant = static_cast<uint8_t>((combined + 1) | (relation->opposite ? kOpposite : 0));
  const unsigned bits = ptx::bitsOf(type);
  op.slots[relation->swapped ? 2 : 1] = decoding.slot(operands[1], bits);
  op.slots[relation->swapped ? 1 : 2] = decoding.slot(operands[2], bits);
  if (combined >= 0) {
    op.slots[3] = decoding.predicate(operands[3]);
    op.slots[5] = negationOf(operands[3]);
  }
  words.end();
}

bool isPair(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

void decodeSetp(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  decodeComparison(instruction, words, type, decoding, op);
  op.slots[0] = decoding.predicate(instruction.operands[0]);
  op.slots[4] = decoding.secondPredicate(instruction.operands[0]);
  op.full = op.partial = isPair(type) ? setPredicatesOfHalves : setPredicates;
}

void decodeSet(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type result = words.takeType(), type = words.takeType();
  decodeComparison(instruction, words, type, decoding, op);
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[9] = 0;
  switch (result) {
    case Type::U32: case Type::S32: op.slots[8] = ~0u; break;
    case Type::F32: op.slots[8] = bitsAs<uint32_t>(1.f); break;
    case Type::U16: case Type::S16: op.slots[8] = 0xffffu; break;
    case Type::F16: op.slots[8] = 0x3c00u; break;
    case Type::BF16: op.slots[8] = 0x3f80u; break;
    case Type::F16x2: op.slots[8] = 0x3c00u; op.slots[9] = 0x3c000000u; break;
    case Type::BF16x2: op.slots[8] = 0x3f80u; op.slots[9] = 0x3f800000u; break;
    default: decoding.refuse("gives no result of this type");
  }
  if (isPair(type) && result == Type::U32) {
    op.slots[8] = 0xffffu;
    op.slots[9] = 0xffff0000u;
  }
  op.full = op.partial = setWords;
}

}  // namespace

std::vector<OpcodeRow> comparisonOpcodes() {
  std::vector<OpcodeRow> rows = selectionOpcodes();
  rows.push_back({"setp", decodeSetp});
  rows.push_back({"set", decodeSet});
  return rows;
}

}  // namespace sgpu
