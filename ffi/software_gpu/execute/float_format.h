/// Floats narrower than 32 bits, and rounding to them. The loops over lanes that use the first half
/// are vectorised: no branches, no tables.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace sgpu {

template <class To, class From>
inline To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

inline float widen(Half half) {
  const uint32_t magnitude = (half.bits & 0x7fffu) << 13;
  const float scaled = bitsAs<float>(magnitude) * 0x1p112f;
  const uint32_t finite = bitsAs<uint32_t>(scaled);
  const uint32_t value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite;
  return bitsAs<float>(value | (half.bits & 0x8000u) << 16);
}

inline float widen(BFloat value) { return bitsAs<float>(static_cast<uint32_t>(value.bits) << 16); }
inline float widen(float value) { return value; }

/// To the nearest, ties to even; any NaN becomes the canonical one.
inline Half narrowToHalf(float value) {
  const uint32_t bits = bitsAs<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 0.5 lets the processor round to units of 2^-24, the smallest subnormal.
  const float shifted = bitsAs<float>(magnitude) + 0.5f;
  const uint32_t subnormal = bitsAs<uint32_t>(shifted) - bitsAs<uint32_t>(0.5f);
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;
  result |= bits >> 16 & 0x8000u;
  result = magnitude > 0x7f800000u ? 0x7fffu : result;
  return {static_cast<uint16_t>(result)};
}

inline BFloat narrowToBFloat(float value) {
  const uint32_t bits = bitsAs<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  const uint32_t result = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded;
  return {static_cast<uint16_t>(result)};
}

template <class T>
inline T narrow(float value);
template <>
inline Half narrow<Half>(float value) { return narrowToHalf(value); }
template <>
inline BFloat narrow<BFloat>(float value) { return narrowToBFloat(value); }
template <>
inline float narrow<float>(float value) { return value; }

/// To a float whose last bit says whether anything was lost: rounding that once more gives what
/// rounding the double in one step would.
inline float roundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  uint32_t bits = bitsAs<uint32_t>(nearest);
  if (static_cast<double>(nearest) != value && value == value) {
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) bits--;
    bits |= 1;
  }
  return bitsAs<float>(bits);
}

/// The sum as a double whose last bit says whether anything was lost.
inline double addToOdd(double a, double b) {
  const double sum = a + b;
  const double bPart = sum - a;
  const double lost = (a - (sum - bPart)) + (b - bPart);
  uint64_t bits = bitsAs<uint64_t>(sum);
  if (lost != 0 && std::isfinite(sum)) {
    if ((lost < 0) != (sum < 0)) bits--;
    bits |= 1;
  }
  return bitsAs<double>(bits);
}

enum class Rounding : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

/// A binary format by its fields.
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  bool hasInfinity = true;  ///< e4m3 uses all exponents for numbers, and has one NaN

  uint32_t mantissaMask() const { return (1u << mantissaBits) - 1; }
  uint32_t largest() const;
  uint32_t infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  uint32_t canonicalNan() const { return (1u << (exponentBits + mantissaBits)) - 1; }
};

constexpr FloatFormat kHalf = {5, 10};
constexpr FloatFormat kBFloat = {8, 7};
constexpr FloatFormat kTensorFloat = {8, 10};
constexpr FloatFormat kE5M2 = {5, 2};
constexpr FloatFormat kE4M3 = {4, 3, false};

/// A value in a format, its sign in the bit above the exponent. With `saturate` what is too large
/// becomes the largest number.
uint32_t encode(double value, const FloatFormat& format, Rounding rounding, bool saturate);
double decode(uint32_t bits, const FloatFormat& format);

}  // namespace sgpu
