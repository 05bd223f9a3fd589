/// f16 and bf16, alone and in pairs. Each result is rounded once from one that is wide enough for
/// that to be the right rounding.
#include <unordered_map>

#include "arithmetic.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"
#include "transcendental.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

/// `Op::variant`: what is done around the operation.
enum Around : uint8_t { kFlush = 1, kSaturate = 2, kRelu = 4 };

template <class H>
H flushNarrow(H value) {
  const unsigned exponent = std::is_same_v<H, Half> ? 0x7c00u : 0x7f80u;
  return {static_cast<uint16_t>(value.bits & exponent ? value.bits : value.bits & 0x8000u)};
}

template <class H, class F, class... A>
uint32_t applyOne(uint8_t around, A... operands) {
  if (around & kFlush) return flushNarrow(F::template of<H>(flushNarrow(operands)...)).bits;
  H result = F::template of<H>(operands...);
  if (around & kSaturate) result = narrow<H>(clampToUnit(widen(result)));
  if (around & kRelu) {
    const float wide = widen(result);
    result = wide > 0 || wide != wide ? result : H{0};
  }
  return result.bits;
}

template <class H, class F, bool packed, class... A>
uint32_t apply(uint8_t around, A... slots) {
  const uint32_t low = applyOne<H, F>(around, H{static_cast<uint16_t>(slots)}...);
  if (!packed) return low;
  return low | applyOne<H, F>(around, H{static_cast<uint16_t>(slots >> 16)}...) << 16;
}

template <class H, class F, bool packed>
void halfUnary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<uint32_t>(op, warp, 0);
  const auto* a = lanes<uint32_t>(op, warp, 1);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) d[i] = apply<H, F, packed>(op.variant, a[i]);
}

template <class H, class F, bool packed>
void halfBinary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<uint32_t>(op, warp, 0);
  const auto* a = lanes<uint32_t>(op, warp, 1);
  const auto* b = lanes<uint32_t>(op, warp, 2);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) d[i] = apply<H, F, packed>(op.variant, a[i], b[i]);
}

template <class H, class F, bool packed>
void halfTernary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<uint32_t>(op, warp, 0);
  const auto* a = lanes<uint32_t>(op, warp, 1);
  const auto* b = lanes<uint32_t>(op, warp, 2);
  const auto* c = lanes<uint32_t>(op, warp, 3);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    d[i] = apply<H, F, packed>(op.variant, a[i], b[i], c[i]);
  }
}

/// By a float operation: float has more than twice the digits, so rounding twice does no harm.
template <class F>
struct InFloat {
  template <class H, class... A>
  static H of(A... operands) { return narrow<H>(F::of(widen(operands)...)); }
};
/// Three operands need more: the product is exact in a double, the sum keeps what it lost.
struct HalfFma {
  template <class H>
  static H of(H a, H b, H c) {
    const double product = static_cast<double>(widen(a)) * static_cast<double>(widen(b));
    return narrow<H>(roundToOdd(addToOdd(product, static_cast<double>(widen(c)))));
  }
};
struct HalfNegate {
  template <class H> static H of(H a) { return {static_cast<uint16_t>(a.bits ^ 0x8000u)}; }
};
struct HalfAbsolute {
  template <class H> static H of(H a) { return {static_cast<uint16_t>(a.bits & 0x7fffu)}; }
};

template <template <class, class, bool> class Loop, class F>
Handler choose(bool bfloat, bool packed) {
  if (bfloat) return packed ? Loop<BFloat, F, true>::run : Loop<BFloat, F, false>::run;
  return packed ? Loop<Half, F, true>::run : Loop<Half, F, false>::run;
}
template <class H, class F, bool packed>
struct Unary { static constexpr Handler run = halfUnary<H, F, packed>; };
template <class H, class F, bool packed>
struct Binary { static constexpr Handler run = halfBinary<H, F, packed>; };
template <class H, class F, bool packed>
struct Ternary { static constexpr Handler run = halfTernary<H, F, packed>; };

/// What comes in common: type, `.ftz`, `.sat`, `.relu`, slots.
template <template <class, class, bool> class Loop, class F, size_t operands>
void decodeHalf(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const bool bfloat = type == Type::BF16 || type == Type::BF16x2;
  const bool packed = type == Type::F16x2 || type == Type::BF16x2;
  const std::string& opcode = instruction.opcode;
  const bool approximate = opcode == "ex2" || opcode == "tanh";
  if (approximate && !words.take("approx")) decoding.refuse("exists only as .approx");
  if (opcode == "add" || opcode == "sub" || opcode == "mul" || opcode == "fma") {
    words.take("rn");
    if (!bfloat && words.take("sat")) op.variant |= kSaturate;
    if (opcode == "fma" && words.take("relu")) op.variant |= kRelu;
  }
  if ((!bfloat || opcode == "ex2") && words.take("ftz")) op.variant |= kFlush;
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), operands);
  setLanewise(op, choose<Loop, F>(bfloat, packed), 32);
  words.end();
}

template <bool greater>
void decodeHalfExtremum(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const Type type = words.takeType();
  const bool bfloat = type == Type::BF16 || type == Type::BF16x2;
  const bool packed = type == Type::F16x2 || type == Type::BF16x2;
  if (!bfloat && words.take("ftz")) op.variant |= kFlush;
  const bool propagate = words.take("NaN"), xorSign = words.take("xorsign");
  if (xorSign && !words.take("abs")) decoding.refuse(".xorsign goes with .abs");
  using Number = ExtremumFloat<greater, false>;
  using Nan = ExtremumFloat<greater, true>;
  sameSlots(instruction, decoding, op, ptx::bitsOf(type), 3);
  const Handler handlers[2][2] = {
      {choose<Binary, InFloat<Number>>(bfloat, packed),
       choose<Binary, InFloat<XorSign<Number>>>(bfloat, packed)},
      {choose<Binary, InFloat<Nan>>(bfloat, packed),
       choose<Binary, InFloat<XorSign<Nan>>>(bfloat, packed)}};
  setLanewise(op, handlers[propagate][xorSign], 32);
  words.end();
}

}  // namespace

void decodeHalfArithmetic(const Instruction& instruction, Decoding& decoding, Op& op) {
  static const std::unordered_map<std::string, Decoder> decoders = {
      {"add", decodeHalf<Binary, InFloat<Add>, 3>},
      {"sub", decodeHalf<Binary, InFloat<Subtract>, 3>},
      {"mul", decodeHalf<Binary, InFloat<Multiply>, 3>},
      {"fma", decodeHalf<Ternary, HalfFma, 4>},
      {"neg", decodeHalf<Unary, HalfNegate, 2>},
      {"abs", decodeHalf<Unary, HalfAbsolute, 2>},
      {"ex2", decodeHalf<Unary, InFloat<Exp2>, 2>},
      {"tanh", decodeHalf<Unary, InFloat<Tanh>, 2>},
      {"min", decodeHalfExtremum<false>},
      {"max", decodeHalfExtremum<true>},
  };
  const auto found = decoders.find(instruction.opcode);
  if (found == decoders.end()) decoding.refuse("does not exist for this type");
  found->second(instruction, decoding, op);
}

}  // namespace sgpu
