#include "literal.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sgpu::ptx {

namespace {

template <class To, class From>
To reinterpret(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// A float of 16 bits, rounded to the nearest, ties to even.
uint16_t narrow(double value, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = static_cast<uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  if (std::isnan(value)) return 0x7FFF;
  if (std::isinf(value)) return sign | infinity;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  // In units of the last place the magnitude is an integer; a carry out of it lands in the exponent.
  double units = std::nearbyint(std::ldexp(std::fabs(value), mantissaBits - exponent));
  if (exponent > bias) return sign | infinity;
  int base = (exponent + bias - 1) << mantissaBits;
  return sign | static_cast<uint16_t>(base + static_cast<int>(units));
}

}  // namespace

uint64_t literalBits(const Operand& immediate, Type type) {
  if (immediate.literal != Type::F32 && immediate.literal != Type::F64) return immediate.bits;
  if (immediate.literal == Type::F64 && bitsOf(type) == 64) return immediate.bits;
  if (immediate.literal == Type::F32 && bitsOf(type) == 32) return immediate.bits;
  double value = immediate.literal == Type::F64
                     ? reinterpret<double>(immediate.bits)
                     : reinterpret<float>(static_cast<uint32_t>(immediate.bits));
  switch (bitsOf(type)) {
    case 64: return reinterpret<uint64_t>(value);
    case 16: return narrow(value, type == Type::BF16 ? 8 : 5);
    default: return reinterpret<uint32_t>(static_cast<float>(value));
  }
}

}  // namespace sgpu::ptx
