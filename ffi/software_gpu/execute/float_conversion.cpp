/// cvt between floats: loops of their own for the frequent ones, one general loop for the rest.
#include "conversion.h"
#include "float_operations.h"
#include "lanewise.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

struct Widen { template <class H> static float of(H a) { return widen(a); } };
struct Same { static float of(float a) { return a; } };
template <float round(float)>
struct ToWhole { static float of(float a) { return round(a); } };
struct NarrowToHalf { static Half of(float a) { return narrowToHalf(a); } };
struct NarrowToBFloat { static BFloat of(float a) { return narrowToBFloat(a); } };
struct ToDouble { static double of(float a) { return a; } };
struct ToSingle { static float of(double a) { return static_cast<float>(a); } };
/// `cvt.rn.f16x2.f32 d, a, b`: the first operand becomes the upper half.
template <class H>
struct NarrowPair {
  static uint32_t of(float a, float b) {
    return static_cast<uint32_t>(narrow<H>(a).bits) << 16 | narrow<H>(b).bits;
  }
};

constexpr FloatFormat kSingle = {8, 23};

/// Formats by number, so that an op can name them.
constexpr FloatFormat kFormats[] = {kHalf, kBFloat, kTensorFloat, kSingle, kE4M3, kE5M2};
enum FormatIndex : uint8_t { kIsHalf, kIsBFloat, kIsTensorFloat, kIsSingle, kIsE4M3, kIsE5M2,
                             kIsDouble, kIsNone };

FormatIndex formatOf(Type type) {
  switch (type) {
    case Type::F16: return kIsHalf;
    case Type::BF16: return kIsBFloat;
    case Type::TF32: return kIsTensorFloat;
    case Type::F32: return kIsSingle;
    case Type::F64: return kIsDouble;
    default: return kIsNone;
  }
}

/// How a value is treated between reading and writing, packed into `Op::immediate`.
struct Treatment {
  uint8_t to, from, rounding;
  int8_t integral;
  bool ftz, sat, relu, saturate;  ///< to [0, 1]; and to the largest number

  static Treatment of(const Op& op) { return bitsAs<Treatment>(op.immediate); }
};
static_assert(sizeof(Treatment) == sizeof(int64_t), "it has to fit");

double readFloat(uint64_t bits, uint8_t format) {
  if (format == kIsDouble) return bitsAs<double>(bits);
  if (format == kIsSingle) return static_cast<double>(bitsAs<float>(static_cast<uint32_t>(bits)));
  return decode(static_cast<uint32_t>(bits), kFormats[format]);
}

double toWhole(double value, int integral) {
  switch (integral) {
    case 0: return __builtin_rint(value);
    case 1: return __builtin_trunc(value);
    case 2: return __builtin_floor(value);
    case 3: return __builtin_ceil(value);
    default: return value;
  }
}

uint64_t writeFloat(double value, const Treatment& how) {
  value = toWhole(value, how.integral);
  if (how.sat) value = clampToUnit(value);
  if (how.relu && value <= 0) value = 0;
  if (how.to == kIsDouble) return bitsAs<uint64_t>(value);
  const FloatFormat& format = kFormats[how.to];
  uint32_t bits = encode(value, format, static_cast<Rounding>(how.rounding), how.saturate);
  if (how.to == kIsSingle && how.ftz) bits = bitsAs<uint32_t>(flush(bitsAs<float>(bits)));
  // TF32 lies in the upper bits of a register for f32.
  return how.to == kIsTensorFloat ? bits << 13 : bits;
}

template <class To, class From>
void convert(const Op& op, Warp& warp, uint32_t mask) {
  const Treatment how = Treatment::of(op);
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    const uint64_t bits = lanes<From>(op, warp, 1)[lane];
    const bool flushes = how.ftz && how.from == kIsSingle;
    const double value = flushes ? flush(bitsAs<float>(static_cast<uint32_t>(bits)))
                                 : readFloat(bits, how.from);
    lanes<To>(op, warp, 0)[lane] = static_cast<To>(writeFloat(value, how));
  }
}

/// Two values, from two registers (the first becomes the upper one) or from the halves of one.
template <bool fromHalves>
void convertPair(const Op& op, Warp& warp, uint32_t mask) {
  const Treatment how = Treatment::of(op);
  const unsigned toBits = how.to == kIsE4M3 || how.to == kIsE5M2 ? 8 : 16;
  const unsigned fromBits = how.from == kIsE4M3 || how.from == kIsE5M2 ? 8 : 16;
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    const uint32_t a = lanes<uint32_t>(op, warp, 1)[lane];
    uint32_t low = a & ((1u << fromBits) - 1), high = (a >> fromBits) & ((1u << fromBits) - 1);
    if (!fromHalves) {
      high = a;
      low = lanes<uint32_t>(op, warp, 2)[lane];
    }
    lanes<uint32_t>(op, warp, 0)[lane] =
        static_cast<uint32_t>(writeFloat(readFloat(high, how.from), how) << toBits |
                              writeFloat(readFloat(low, how.from), how));
  }
}

void setGeneral(Op& op, Handler handler, const Treatment& how) {
  op.immediate = bitsAs<int64_t>(how);
  op.full = op.partial = handler;
}

template <class F>
Handler withinSingle(bool ftz, bool sat) {
  const Handler handlers[2][2] = {
      {unary<Modified<F, false, false>, float, float>,
       unary<Modified<F, false, true>, float, float>},
      {unary<Modified<F, true, false>, float, float>,
       unary<Modified<F, true, true>, float, float>}};
  return handlers[ftz][sat];
}

float roundToEven(float a) { return __builtin_rintf(a); }
float roundToZero(float a) { return __builtin_truncf(a); }
float roundDown(float a) { return __builtin_floorf(a); }
float roundUp(float a) { return __builtin_ceilf(a); }

/// f32 to f32: to whole numbers, to [0, 1], or without subnormals.
Handler singleToSingle(const Conversion& conversion) {
  const bool ftz = conversion.ftz, sat = conversion.sat;
  switch (conversion.integral) {
    case 0: return withinSingle<ToWhole<roundToEven>>(ftz, sat);
    case 1: return withinSingle<ToWhole<roundToZero>>(ftz, sat);
    case 2: return withinSingle<ToWhole<roundDown>>(ftz, sat);
    case 3: return withinSingle<ToWhole<roundUp>>(ftz, sat);
    default: return withinSingle<Same>(ftz, sat);
  }
}

/// The conversions that kernels are full of.
bool setFrequent(const Conversion& conversion, Op& op) {
  const Type to = conversion.to, from = conversion.from;
  if (conversion.rounding > 0) return false;
  if (from == Type::F32 && to == Type::F32) {
    setLanewise(op, singleToSingle(conversion), 32);
    return true;
  }
  if (conversion.integral >= 0 || conversion.sat || conversion.ftz) return false;
  const bool rounds = conversion.rounding == 0;
  if (from == Type::F16 && to == Type::F32) {
    setLanewise(op, unary<Widen, float, Half>, 32);
  } else if (from == Type::BF16 && to == Type::F32) {
    setLanewise(op, unary<Widen, float, BFloat>, 32);
  } else if (from == Type::F32 && to == Type::F16 && rounds) {
    setLanewise(op, unary<NarrowToHalf, Half, float>, 32);
  } else if (from == Type::F32 && to == Type::BF16 && rounds) {
    setLanewise(op, unary<NarrowToBFloat, BFloat, float>, 32);
  } else if (from == Type::F32 && to == Type::F64) {
    setLanewise(op, unary<ToDouble, double, float>, 64);
  } else if (from == Type::F64 && to == Type::F32 && rounds) {
    setLanewise(op, unary<ToSingle, float, double>, 32);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void decodeFloatToFloat(const Conversion& conversion, ModifierList& words, Decoding& decoding,
                        Op& op) {
  const bool away = words.take("rna"), relu = words.take("relu"), finite = words.take("satfinite");
  Treatment how = {};
  how.to = formatOf(conversion.to);
  how.from = formatOf(conversion.from);
  if (how.to == kIsNone || how.from == kIsNone || conversion.from == Type::TF32) {
    decoding.refuse("does not exist for these types");
  }
  const bool narrows = ptx::bitsOf(conversion.to) < ptx::bitsOf(conversion.from) ||
                       how.to == kIsTensorFloat;
  if (narrows && conversion.rounding < 0 && !away) decoding.refuse("needs a rounding");
  if (!away && !relu && !finite && setFrequent(conversion, op)) return;
  how.rounding = static_cast<uint8_t>(away ? static_cast<int>(Rounding::NearestAway)
                                           : std::max(0, conversion.rounding));
  how.integral = static_cast<int8_t>(conversion.integral);
  how.ftz = conversion.ftz;
  how.sat = conversion.sat;
  how.relu = relu;
  how.saturate = finite;
  const bool wideTo = conversion.toSlotBits == 64, wideFrom = conversion.fromSlotBits == 64;
  const Handler handlers[2][2] = {{convert<uint32_t, uint32_t>, convert<uint32_t, uint64_t>},
                                  {convert<uint64_t, uint32_t>, convert<uint64_t, uint64_t>}};
  setGeneral(op, handlers[wideTo][wideFrom], how);
}

bool decodePairConversion(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  // In the order of FormatIndex where a pair of it exists.
  constexpr FormatIndex formats[] = {kIsHalf, kIsBFloat, kIsE4M3, kIsE5M2};
  const auto isEight = [](FormatIndex format) { return format == kIsE4M3 || format == kIsE5M2; };
  std::vector<FormatIndex> pairs;
  for (const std::string& word : instruction.modifiers) {
    int index = 0;
    for (const char* name : {"f16x2", "bf16x2", "e4m3x2", "e5m2x2"}) {
      if (word == name) pairs.push_back(formats[index]);
      index++;
    }
  }
  if (pairs.empty()) return false;
  while (words.takeOneOf({"f16x2", "bf16x2", "e4m3x2", "e5m2x2"}) >= 0) {}
  Treatment how = {};
  how.integral = -1;
  how.to = pairs[0];
  how.relu = words.take("relu");
  how.saturate = words.take("satfinite");
  const int rounding = words.takeOneOf({"rn", "rz"});
  if (rounding < 0) decoding.refuse("needs a rounding");
  how.rounding = static_cast<uint8_t>(rounding);
  const auto& operands = instruction.operands;
  if (pairs.size() == 1) {
    if (words.takeType() != Type::F32) decoding.refuse("makes a pair of .f32");
    how.from = kIsSingle;
    takeOperands(instruction, decoding, 3, 3);
    op.slots[0] = decoding.slot(operands[0], isEight(pairs[0]) ? 16 : 32);
    op.slots[1] = decoding.slot(operands[1], 32);
    op.slots[2] = decoding.slot(operands[2], 32);
    if (!how.relu && !how.saturate && rounding == 0 && !isEight(pairs[0])) {
      setLanewise(op, pairs[0] == kIsHalf ? binary<NarrowPair<Half>, uint32_t, float>
                                          : binary<NarrowPair<BFloat>, uint32_t, float>, 32);
    } else {
      setGeneral(op, convertPair<false>, how);
    }
  } else {
    how.from = pairs[1];
    takeOperands(instruction, decoding, 2, 2);
    op.slots[0] = decoding.slot(operands[0], isEight(pairs[0]) ? 16 : 32);
    op.slots[1] = decoding.slot(operands[1], isEight(pairs[1]) ? 16 : 32);
    setGeneral(op, convertPair<true>, how);
  }
  words.end();
  return true;
}

}  // namespace sgpu
