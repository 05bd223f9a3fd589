/// 16-bit floating point values in 32-bit arithmetic: binary16 and bfloat16, rounded to nearest
/// even, with the one NaN that the ISA names.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace sgpu {

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

constexpr uint16_t kSmallNaN = 0x7fff;

inline float halfToFloat(uint16_t half) {
#ifdef __F16C__
  return _cvtsh_ss(half);
#else
  // With exponent and fraction at binary32's places only the bias is wrong, for subnormals too.
  float magnitude = floatOf((half & 0x7fffu) << 13) * 0x1p112f;
  if ((half & 0x7c00) == 0x7c00) magnitude = floatOf(bitsOf(magnitude) | 0x7f800000);
  return floatOf(bitsOf(magnitude) | (half & 0x8000u) << 16);
#endif
}

inline uint16_t floatToHalf(float value) {
  const uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return kSmallNaN;
#ifdef __F16C__
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
#else
  const uint16_t sign = bits >> 16 & 0x8000;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {
    // Subnormal: the units of a sum with 0.5 are those of the result, so the addition rounds.
    return sign | (bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f));
  }
  return sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
#endif
}

inline float bfloatToFloat(uint16_t value) { return floatOf(uint32_t(value) << 16); }

inline uint16_t floatToBfloat(float value) {
  const uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return kSmallNaN;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace sgpu
