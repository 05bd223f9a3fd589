#include "float_format.h"

#include <algorithm>

namespace sgpu {

uint32_t FloatFormat::largest() const {
  return hasInfinity ? infinity() - 1 : canonicalNan() - 1;
}

uint32_t encode(double value, const FloatFormat& format, Rounding rounding, bool saturate) {
  const uint32_t sign = std::signbit(value) ? 1u << (format.exponentBits + format.mantissaBits) : 0;
  if (std::isnan(value)) return format.canonicalNan();
  const double magnitude = std::fabs(value);
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const bool outward = rounding == (sign ? Rounding::Down : Rounding::Up);
  const uint32_t overflow = format.hasInfinity ? format.infinity() : format.canonicalNan();
  if (std::isinf(value)) return sign | (saturate ? format.largest() : overflow);
  if (magnitude == 0) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 1, 1 - bias) - static_cast<int>(format.mantissaBits);
  const double scaled = std::ldexp(magnitude, -unit);  // exact
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  bool up = outward && rest > 0;
  if (rounding == Rounding::NearestEven) {
    up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0);
  } else if (rounding == Rounding::NearestAway) {
    up = rest >= 0.5;
  }
  if (up) whole += 1;
  // A carry out of the mantissa is one more in the exponent, which is what the addition below does.
  const uint64_t fraction = static_cast<uint64_t>(whole);
  const uint64_t steps = static_cast<uint64_t>(unit + static_cast<int>(format.mantissaBits) +
                                               bias - 1);
  const uint64_t bits = (steps << format.mantissaBits) + fraction;
  if (bits <= format.largest()) return sign | static_cast<uint32_t>(bits);
  const bool toLargest = saturate || rounding == Rounding::Zero ||
                         (!outward && (rounding == Rounding::Down || rounding == Rounding::Up));
  return sign | (toLargest ? format.largest() : overflow);
}

double decode(uint32_t bits, const FloatFormat& format) {
  const unsigned width = format.exponentBits + format.mantissaBits;
  const double sign = bits >> width & 1 ? -1 : 1;
  const uint32_t magnitude = bits & ((1u << width) - 1);
  if (format.hasInfinity ? magnitude > format.infinity() : magnitude == format.canonicalNan()) {
    return NAN;
  }
  if (format.hasInfinity && magnitude == format.infinity()) return sign * INFINITY;
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  const double fraction = magnitude & format.mantissaMask();
  const int unit = (exponent ? exponent : 1) - bias - static_cast<int>(format.mantissaBits);
  return sign * std::ldexp(fraction + (exponent ? double(1u << format.mantissaBits) : 0), unit);
}

}  // namespace sgpu
