/// cvt between integers, and from and to them.
#include <cmath>
#include <limits>

#include "conversion.h"
#include "directed_rounding.h"
#include "float_operations.h"
#include "move_ops.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

template <class To>
struct Cast {
  template <class From> static To of(From from) { return static_cast<To>(from); }
};

/// Integers of any width, by shifting their fields to the top and back. slots[2]: unused bits above
/// the narrower type, slots[3]: whether its sign fills them; slots[4] and slots[5] the same of the
/// result in its register.
template <class Wide, class To, class From>
void resize(const Op& op, Warp& warp, uint32_t) {
  using Signed = std::make_signed_t<Wide>;
  To* d = lanes<To>(op, warp, 0);
  const From* a = lanes<From>(op, warp, 1);
  const uint32_t first = op.slots[2], second = op.slots[4];
  const bool firstSigned = op.slots[3] != 0, secondSigned = op.slots[5] != 0;
  const auto extend = [](Wide value, uint32_t shift, bool isSigned) {
    const Wide top = value << shift;
    return isSigned ? static_cast<Wide>(static_cast<Signed>(top) >> shift) : top >> shift;
  };
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    const Wide value = extend(static_cast<Wide>(a[i]), first, firstSigned);
    d[i] = static_cast<To>(extend(value, second, secondSigned));
  }
}

/// `variant`: result signed, operand signed; slots[2] and slots[3]: their widths.
template <class To, class From>
void resizeSaturating(const Op& op, Warp& warp, uint32_t) {
  To* d = lanes<To>(op, warp, 0);
  const From* a = lanes<From>(op, warp, 1);
  const bool toSigned = op.variant & 1, fromSigned = op.variant & 2;
  const __int128 one = 1;
  const __int128 low = toSigned ? -(one << (op.slots[2] - 1)) : 0;
  const __int128 high = (one << (op.slots[2] - (toSigned ? 1 : 0))) - 1;
  for (unsigned i = 0; i < kWarpLanes; i++) {
    const uint64_t top = static_cast<uint64_t>(a[i]) << (64 - op.slots[3]);
    const __int128 value = fromSigned ? __int128{static_cast<int64_t>(top) >> (64 - op.slots[3])}
                                      : __int128{top >> (64 - op.slots[3])};
    d[i] = static_cast<To>(value < low ? low : value > high ? high : value);
  }
}

/// An operand of `.ftz`.
struct Flushed {
  float value;
};
inline float widen(Flushed flushed) { return flush(flushed.value); }
inline double widen(double value) { return value; }

/// Rounds to whole numbers, clamps, and takes what the ISA says for NaN. slots[2]: width of the
/// result, slots[3]: whether it is signed; `variant`: the rounding.
template <class From>
struct ToInteger {
  static double round(double value, unsigned rounding) {
    switch (rounding) {
      case 0: return __builtin_rint(value);
      case 1: return __builtin_trunc(value);
      case 2: return __builtin_floor(value);
      default: return __builtin_ceil(value);
    }
  }

  /// For results of up to 32 bits, which a double holds: one loop per rounding, vectorised.
  template <class To, unsigned rounding>
  static void narrowLoop(const Op& op, Warp& warp) {
    To* d = lanes<To>(op, warp, 0);
    const auto* a = lanes<SlotOf<From>>(op, warp, 1);
    const bool isSigned = op.slots[3] != 0;
    const double high = std::ldexp(1.0, static_cast<int>(op.slots[2]) - (isSigned ? 1 : 0)) - 1;
    const double low = isSigned ? -high - 1 : 0;
    const double nan = std::is_same_v<From, double> ? (isSigned ? low : (high + 1) / 2) : 0;
#pragma GCC ivdep
    for (unsigned i = 0; i < kWarpLanes; i++) {
      const double value = static_cast<double>(widen(fromSlot<From>(a[i])));
      double whole = round(value, rounding);
      whole = whole < low ? low : whole > high ? high : whole;
      whole = value != value ? nan : whole;
      d[i] = static_cast<To>(static_cast<int64_t>(whole));
    }
  }

  template <class To>
  static void narrow(const Op& op, Warp& warp, uint32_t) {
    switch (op.variant) {
      case 0: return narrowLoop<To, 0>(op, warp);
      case 1: return narrowLoop<To, 1>(op, warp);
      case 2: return narrowLoop<To, 2>(op, warp);
      default: return narrowLoop<To, 3>(op, warp);
    }
  }

  template <class To>
  static void wide(const Op& op, Warp& warp, uint32_t) {
    To* d = lanes<To>(op, warp, 0);
    const auto* a = lanes<SlotOf<From>>(op, warp, 1);
    const double limit = std::is_signed_v<To> ? 0x1p63 : 0x1p64;
    for (unsigned i = 0; i < kWarpLanes; i++) {
      const double value = round(static_cast<double>(widen(fromSlot<From>(a[i]))), op.variant);
      To result = static_cast<To>(uint64_t{1} << 63);
      if (value == value) {
        using Limits = std::numeric_limits<To>;
        const double least = Limits::is_signed ? -limit : 0;
        result = value >= limit  ? Limits::max()
                 : value < least ? Limits::min()
                                 : static_cast<To>(value);
      }
      d[i] = result;
    }
  }

  static Handler handler(Type to, unsigned slotBits) {
    if (to == Type::U64) return wide<uint64_t>;
    if (to == Type::S64) return wide<int64_t>;
    return slotBits == 64 ? narrow<uint64_t> : narrow<uint32_t>;
  }
};

/// slots[2]: bits above the operand in its register, slots[3]: whether it is signed.
template <class To, class From>
void fromInteger(const Op& op, Warp& warp, uint32_t) {
  using Signed = std::make_signed_t<From>;
  To* d = lanes<To>(op, warp, 0);
  const From* a = lanes<From>(op, warp, 1);
  const uint32_t shift = op.slots[2];
  if (op.slots[3]) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kWarpLanes; i++) {
      d[i] = static_cast<To>(static_cast<Signed>(a[i] << shift) >> shift);
    }
  } else {
#pragma GCC ivdep
    for (unsigned i = 0; i < kWarpLanes; i++) d[i] = static_cast<To>(a[i] << shift >> shift);
  }
}

/// To f16 and bf16: a double holds all that matters of an integer, rounded to odd.
template <class From>
void fromIntegerToHalf(const Op& op, Warp& warp, uint32_t) {
  using Signed = std::make_signed_t<From>;
  auto* d = lanes<uint32_t>(op, warp, 0);
  const From* a = lanes<From>(op, warp, 1);
  const uint32_t shift = op.slots[2];
  const bool bfloat = op.slots[4] != 0;
  for (unsigned i = 0; i < kWarpLanes; i++) {
    const From top = a[i] << shift;
    const bool negative = op.slots[3] && static_cast<Signed>(top) < 0;
    From magnitude = top >> shift;
    if (op.slots[3]) magnitude = static_cast<From>(static_cast<Signed>(top) >> shift);
    if (negative) magnitude = From{0} - magnitude;
    // The lowest of 64 bits tells whether any of those that a double has no room for was set.
    uint64_t kept = magnitude;
    if (kept >> 40) kept = (kept & ~uint64_t{0xffff}) | ((kept & 0xffff) != 0) << 16;
    const double value = negative ? -static_cast<double>(kept) : static_cast<double>(kept);
    d[i] = encode(value, bfloat ? kBFloat : kHalf, static_cast<Rounding>(op.variant), false);
  }
}

bool isInteger(Type type) { return !ptx::isFloat(type) && type != Type::Pred; }

void decodeConversion(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (decodePairConversion(instruction, decoding, op)) return;
  ModifierList words(instruction, decoding);
  Conversion conversion;
  conversion.to = words.takeType();
  conversion.from = words.takeType();
  if (ptx::bitsOf(conversion.to) < 8 || ptx::bitsOf(conversion.from) < 8) {
    decoding.refuse("converts between two types");
  }
  takeOperands(instruction, decoding, 2, 2);
  const auto slotBits = [&](const ptx::Operand& operand, Type type) {
    const unsigned bits = std::max(decoding.registerBits(operand), ptx::bitsOf(type));
    return bits > 32 ? 64u : 32u;
  };
  const auto& operands = instruction.operands;
  conversion.toSlotBits = slotBits(operands[0], conversion.to);
  conversion.fromSlotBits = operands[1].kind == ptx::Operand::Kind::Immediate
                                ? (ptx::bitsOf(conversion.from) > 32 ? 64u : 32u)
                                : slotBits(operands[1], conversion.from);
  for (unsigned i = 0; i < 2; i++) {
    if (operands[i].kind == ptx::Operand::Kind::Register &&
        decoding.registerBits(operands[i]) < ptx::bitsOf(i ? conversion.from : conversion.to)) {
      decoding.refuse("a register is too small for its type");
    }
  }
  op.slots[0] = decoding.slot(operands[0], conversion.toSlotBits);
  op.slots[1] = decoding.slot(operands[1], conversion.fromSlotBits);
  conversion.integral = words.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  conversion.rounding = words.takeOneOf({"rn", "rz", "rm", "rp"});
  conversion.ftz = words.take("ftz");
  conversion.sat = words.take("sat");
  const bool toInteger = isInteger(conversion.to), fromInteger = isInteger(conversion.from);
  if (toInteger && fromInteger) {
    decodeIntegerToInteger(conversion, decoding, op);
  } else if (toInteger) {
    decodeFloatToInteger(conversion, decoding, op);
  } else if (fromInteger) {
    decodeIntegerToFloat(conversion, decoding, op);
  } else {
    decodeFloatToFloat(conversion, words, decoding, op);
  }
  words.end();
}

}  // namespace

void decodeIntegerToInteger(const Conversion& conversion, Decoding&, Op& op) {
  const unsigned to = ptx::bitsOf(conversion.to), from = ptx::bitsOf(conversion.from);
  const bool wideTo = conversion.toSlotBits == 64, wideFrom = conversion.fromSlotBits == 64;
  if (conversion.sat) {
    op.variant = static_cast<uint8_t>(ptx::isSigned(conversion.to) |
                                      ptx::isSigned(conversion.from) << 1);
    op.slots[2] = to;
    op.slots[3] = from;
    const Handler handlers[2][2] = {
        {resizeSaturating<uint32_t, uint32_t>, resizeSaturating<uint32_t, uint64_t>},
        {resizeSaturating<uint64_t, uint32_t>, resizeSaturating<uint64_t, uint64_t>}};
    return setLanewise(op, handlers[wideTo][wideFrom], conversion.toSlotBits);
  }
  // What the handlers for whole registers do without shifts.
  if (to == 64 && from == 32 && !wideFrom) {
    const Handler extend = ptx::isSigned(conversion.from)
                               ? unary<Cast<int64_t>, int64_t, int32_t>
                               : unary<Cast<uint64_t>, uint64_t, uint32_t>;
    return setLanewise(op, extend, 64);
  }
  if (to == 32 && from == 64 && !wideTo) {
    return setLanewise(op, unary<Cast<uint32_t>, uint32_t, uint64_t>, 32);
  }
  const unsigned width = wideTo || wideFrom ? 64 : 32;
  op.slots[2] = width - from;
  op.slots[3] = ptx::isSigned(conversion.from);
  op.slots[4] = width - to;
  op.slots[5] = ptx::isSigned(conversion.to);
  const Handler handlers[2][2] = {
      {resize<uint32_t, uint32_t, uint32_t>, resize<uint64_t, uint32_t, uint64_t>},
      {resize<uint64_t, uint64_t, uint32_t>, resize<uint64_t, uint64_t, uint64_t>}};
  setLanewise(op, handlers[wideTo][wideFrom], conversion.toSlotBits);
}

void decodeFloatToInteger(const Conversion& conversion, Decoding& decoding, Op& op) {
  if (conversion.integral < 0) decoding.refuse("needs .rni, .rzi, .rmi or .rpi");
  op.variant = static_cast<uint8_t>(conversion.integral);
  op.slots[2] = ptx::bitsOf(conversion.to);
  op.slots[3] = ptx::isSigned(conversion.to);
  Handler handler = nullptr;
  const unsigned slotBits = conversion.toSlotBits;
  switch (conversion.from) {
    case Type::F32:
      handler = conversion.ftz ? ToInteger<Flushed>::handler(conversion.to, slotBits)
                               : ToInteger<float>::handler(conversion.to, slotBits);
      break;
    case Type::F64: handler = ToInteger<double>::handler(conversion.to, slotBits); break;
    case Type::F16: handler = ToInteger<Half>::handler(conversion.to, slotBits); break;
    case Type::BF16: handler = ToInteger<BFloat>::handler(conversion.to, slotBits); break;
    default: decoding.refuse("does not exist for these types");
  }
  setLanewise(op, handler, conversion.toSlotBits);
}

void decodeIntegerToFloat(const Conversion& conversion, Decoding& decoding, Op& op) {
  if (conversion.rounding < 0) decoding.refuse("needs .rn, .rz, .rm or .rp");
  const bool wide = conversion.fromSlotBits == 64;
  op.slots[2] = conversion.fromSlotBits - ptx::bitsOf(conversion.from);
  op.slots[3] = ptx::isSigned(conversion.from);
  Handler handler = nullptr;
  switch (conversion.to) {
    case Type::F32:
      handler = wide ? fromInteger<float, uint64_t> : fromInteger<float, uint32_t>;
      return setRounded(op, handler, 32, conversion.rounding);
    case Type::F64:
      handler = wide ? fromInteger<double, uint64_t> : fromInteger<double, uint32_t>;
      return setRounded(op, handler, 64, conversion.rounding);
    case Type::F16: case Type::BF16:
      op.variant = static_cast<uint8_t>(conversion.rounding);
      op.slots[4] = conversion.to == Type::BF16;
      return setLanewise(op, wide ? fromIntegerToHalf<uint64_t> : fromIntegerToHalf<uint32_t>, 32);
    default: decoding.refuse("does not exist for these types");
  }
}

std::vector<OpcodeRow> conversionOpcodes() {
  std::vector<OpcodeRow> rows = moveOpcodes();
  rows.push_back({"cvt", decodeConversion});
  return rows;
}

}  // namespace sgpu
