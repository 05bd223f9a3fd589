/// What float instructions compute, lane by lane. A NaN that one makes is some NaN: sign and payload
/// are the host's, where a device has its canonical one.
#pragma once

#include <cmath>
#include <cstdint>

#include "float_format.h"
#include "integer_operations.h"

namespace sgpu {

inline float canonicalNan() { return bitsAs<float>(0x7fffffffu); }

/// Subnormal numbers become zeros of the same sign.
inline float flush(float value) {
  const uint32_t bits = bitsAs<uint32_t>(value);
  return bitsAs<float>(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

/// To [0, 1]; NaN becomes 0.
template <class T>
inline T clampToUnit(T value) {
  const T above = value > 0 ? value : 0;
  return above < 1 ? above : 1;
}

/// An operation with `.ftz` and `.sat` around it.
template <class F, bool ftz, bool sat>
struct Modified {
  template <class... A>
  static float of(A... a) {
    float result = ftz ? flush(F::of(flush(a)...)) : F::of(a...);
    return sat ? clampToUnit(result) : result;
  }
};

struct Multiply { template <class T> static T of(T a, T b) { return a * b; } };
struct DivideFloat { template <class T> static T of(T a, T b) { return a / b; } };
struct FusedMultiplyAdd {
  static float of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double of(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct Reciprocal { template <class T> static T of(T a) { return 1 / a; } };
struct SquareRoot {
  static float of(float a) { return __builtin_sqrtf(a); }
  static double of(double a) { return __builtin_sqrt(a); }
};
struct NegateFloat { template <class T> static T of(T a) { return -a; } };
struct AbsoluteFloat {
  static float of(float a) { return __builtin_fabsf(a); }
  static double of(double a) { return __builtin_fabs(a); }
};
/// The magnitude of the second with the sign of the first.
struct CopySign {
  static float of(float a, float b) { return __builtin_copysignf(b, a); }
  static double of(double a, double b) { return __builtin_copysign(b, a); }
};

template <class T> struct BitsOf;
template <> struct BitsOf<float> { using type = uint32_t; };
template <> struct BitsOf<double> { using type = uint64_t; };

/// -0 is less than +0. NaN is the other operand, or with `propagate` the result.
template <bool greater, bool propagate>
struct ExtremumFloat {
  template <class T>
  static T of(T a, T b) {
    using Bits = typename BitsOf<T>::type;
    const Bits x = bitsAs<Bits>(a), y = bitsAs<Bits>(b);
    const T equal = bitsAs<T>(greater ? x & y : x | y);
    T result = (greater ? a > b : a < b) ? a : b;
    result = a == b ? equal : result;
    const T nan = bitsAs<T>(static_cast<Bits>(~Bits{0} >> 1));
    if (propagate) return a != a || b != b ? nan : result;
    result = a != a ? b : result;
    result = b != b ? a : result;
    return result != result ? nan : result;
  }
};
template <class F>
struct OfThree {
  template <class T> static T of(T a, T b, T c) { return F::of(F::of(a, b), c); }
};
template <class F>
struct OfMagnitudes {
  template <class... A> static float of(A... a) { return F::of(__builtin_fabsf(a)...); }
};
/// Two floats in one register.
template <class F>
struct InPairs {
  template <class... A>
  static uint64_t of(A... a) {
    const float low = F::of(bitsAs<float>(static_cast<uint32_t>(a))...);
    const float high = F::of(bitsAs<float>(static_cast<uint32_t>(a >> 32))...);
    return bitsAs<uint32_t>(low) | static_cast<uint64_t>(bitsAs<uint32_t>(high)) << 32;
  }
};
/// Of the magnitudes, with the sign of the product.
template <class F>
struct XorSign {
  static float of(float a, float b) {
    const float result = F::of(__builtin_fabsf(a), __builtin_fabsf(b));
    const uint32_t sign = (bitsAs<uint32_t>(a) ^ bitsAs<uint32_t>(b)) & 0x80000000u;
    return bitsAs<float>(bitsAs<uint32_t>(result) | sign);
  }
};

/// Sum, difference and product of products with narrower operands than the result.
struct AddWidened {
  template <class A> static float of(A a, float c) { return widen(a) + c; }
};
struct SubtractWidened {
  template <class A> static float of(A a, float c) { return widen(a) - c; }
};
struct FmaWidened {
  template <class A> static float of(A a, A b, float c) {
    return __builtin_fmaf(widen(a), widen(b), c);
  }
};

}  // namespace sgpu
