/// Functions that PTX has only approximately: each well within the error its documentation allows,
/// and written so that the loop over lanes is vectorised.
#pragma once

#include "float_operations.h"

namespace sgpu {

/// 2^x by the fraction's series and two steps of scaling, since one would lose subnormal results.
struct Exp2 {
  static float of(float x) {
    const float bounded = x > -151.f ? (x < 129.f ? x : 129.f) : -151.f;  // so is NaN
    const float whole = __builtin_floorf(bounded + 0.5f);
    const float f = bounded - whole;
    // ln(2)^k / k!
    float p = 1.52527338e-5f;
    p = p * f + 1.54035304e-4f;
    p = p * f + 1.33335581e-3f;
    p = p * f + 9.61812911e-3f;
    p = p * f + 5.55041087e-2f;
    p = p * f + 2.40226507e-1f;
    p = p * f + 6.93147181e-1f;
    p = p * f + 1.f;
    const int32_t exponent = static_cast<int32_t>(whole);
    const int32_t half = exponent >> 1;
    const float result = p * power(half) * power(exponent - half);
    return x != x ? canonicalNan() : result;
  }

 private:
  static float power(int32_t exponent) {
    return bitsAs<float>(static_cast<uint32_t>(exponent + 127) << 23);
  }
};

/// log2(x): the exponent, and the series of atanh for a mantissa around 1.
struct Log2 {
  static float of(float x) {
    const bool small = x < 0x1p-126f;
    const uint32_t bits = bitsAs<uint32_t>(small ? x * 0x1p23f : x);
    const uint32_t shifted = bits - 0x3f3504f3u;  // sqrt(1/2) becomes an exponent's lower end
    const int32_t exponent = static_cast<int32_t>(shifted) >> 23;
    const float m = bitsAs<float>((shifted & 0x7fffffu) + 0x3f3504f3u);
    const float s = (m - 1) / (m + 1), square = s * s;
    // 2 / ln(2) / (2k + 1)
    float p = 0.320598f;
    p = p * square + 0.412198583f;
    p = p * square + 0.577078016f;
    p = p * square + 0.961796694f;
    p = p * square + 2.885390082f;
    float result = p * s + static_cast<float>(exponent - (small ? 23 : 0));
    result = x == bitsAs<float>(0x7f800000u) ? x : result;
    result = x == 0 ? -bitsAs<float>(0x7f800000u) : result;
    return x < 0 || x != x ? canonicalNan() : result;
  }
};

/// By 2^x where that keeps its digits, by the series near zero.
struct Tanh {
  static float of(float x) {
    const float a = __builtin_fabsf(x), square = x * x;
    const float e = Exp2::of(-2.885390082f * a);
    const float far = (1 - e) / (1 + e);
    float p = -5.39682540e-2f;
    p = p * square + 1.33333333e-1f;
    p = p * square - 3.33333333e-1f;
    const float near = a + a * square * p;
    const float result = a < 0.25f ? near : far;
    return x != x ? canonicalNan() : __builtin_copysignf(result, x);
  }
};

struct ReciprocalRoot {
  static float of(float a) { return 1 / __builtin_sqrtf(a); }
  static double of(double a) { return 1 / __builtin_sqrt(a); }
};
struct Sine { static float of(float a) { return __builtin_sinf(a); } };
struct Cosine { static float of(float a) { return __builtin_cosf(a); } };

/// The coarse forms of f64: only the upper halves of operand and result count.
template <class F>
struct UpperHalf {
  static double cut(double a) { return bitsAs<double>(bitsAs<uint64_t>(a) & ~0xffffffffull); }
  static double flush(double a) {
    const uint64_t bits = bitsAs<uint64_t>(a);
    return bitsAs<double>(bits & 0x7ff0000000000000u ? bits : bits & 0x8000000000000000u);
  }
  static double of(double a) { return cut(flush(F::of(flush(cut(a))))); }
};

}  // namespace sgpu
