/// What integer instructions compute, lane by lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sgpu {

template <class T>
struct Wider;
template <> struct Wider<uint16_t> { using type = uint32_t; };
template <> struct Wider<int16_t> { using type = int32_t; };
template <> struct Wider<uint32_t> { using type = uint64_t; };
template <> struct Wider<int32_t> { using type = int64_t; };
template <> struct Wider<uint64_t> { using type = unsigned __int128; };
template <> struct Wider<int64_t> { using type = __int128; };

struct Add { template <class T> static T of(T a, T b) { return a + b; } };
struct Subtract { template <class T> static T of(T a, T b) { return a - b; } };
struct MultiplyLow {
  template <class T> static T of(T a, T b) {
    return static_cast<T>(static_cast<typename Wider<T>::type>(a) * b);
  }
};
struct MultiplyHigh {
  template <class T> static T of(T a, T b) {
    return static_cast<T>(static_cast<typename Wider<T>::type>(a) * b >> 8 * sizeof(T));
  }
};
struct MultiplyWide {
  template <class T> static typename Wider<T>::type of(T a, T b) {
    return static_cast<typename Wider<T>::type>(a) * b;
  }
};
/// a * b + c, with the product as `Product` has it.
template <class Product>
struct MultiplyAdd {
  template <class T, class C> static C of(T a, T b, C c) {
    using Unsigned = std::make_unsigned_t<C>;
    return static_cast<C>(static_cast<Unsigned>(Product::of(a, b)) + static_cast<Unsigned>(c));
  }
};

template <class T, class W>
inline T saturate(W value) {
  const W low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : value > high ? high : value);
}
struct AddSaturating {
  static int32_t of(int32_t a, int32_t b) { return saturate<int32_t>(int64_t{a} + b); }
};
struct SubtractSaturating {
  static int32_t of(int32_t a, int32_t b) { return saturate<int32_t>(int64_t{a} - b); }
};
struct MultiplyHighAddSaturating {
  static int32_t of(int32_t a, int32_t b, int32_t c) {
    return saturate<int32_t>((int64_t{a} * b >> 32) + c);
  }
};

/// Division by zero is undefined; the hardware gives all ones, and the dividend as remainder. The
/// quotient of the smallest number and -1 wraps.
struct Divide {
  template <class T> static T of(T a, T b) {
    if constexpr (sizeof(T) < 8) {
      // Exact, since a double holds 53 bits; and there are vectors of it.
      const double quotient = static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
      return b == 0 ? static_cast<T>(-1) : static_cast<T>(static_cast<int64_t>(quotient));
    } else {
      if (b == 0) return static_cast<T>(-1);
      using Unsigned = std::make_unsigned_t<T>;
      const bool wraps = std::is_signed_v<T> && b == static_cast<T>(-1);
      return wraps ? static_cast<T>(Unsigned{0} - static_cast<Unsigned>(a)) : a / b;
    }
  }
};
struct Remainder {
  template <class T> static T of(T a, T b) {
    if (b == 0) return a;
    using Unsigned = std::make_unsigned_t<T>;
    const auto whole = static_cast<Unsigned>(MultiplyLow::of(Divide::of(a, b), b));
    return static_cast<T>(static_cast<Unsigned>(a) - whole);
  }
};

struct Minimum { template <class T> static T of(T a, T b) { return a < b ? a : b; } };
struct Maximum { template <class T> static T of(T a, T b) { return a > b ? a : b; } };
/// Results below zero become zero.
template <class F>
struct Relu {
  template <class T> static T of(T a, T b) { return std::max<T>(F::of(a, b), 0); }
};
/// Two 16-bit lanes in one register.
template <class F, class T>
struct InHalves {
  static uint32_t of(uint32_t a, uint32_t b) {
    const T low = F::of(static_cast<T>(a), static_cast<T>(b));
    const T high = F::of(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
    return static_cast<uint16_t>(low) | static_cast<uint32_t>(static_cast<uint16_t>(high)) << 16;
  }
};

struct Negate {
  template <class T> static T of(T a) {
    return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  }
};
struct Absolute { template <class T> static T of(T a) { return a < 0 ? Negate::of(a) : a; } };

struct SumOfDifferences {
  template <class T> static T of(T a, T b, T c) {
    using Unsigned = std::make_unsigned_t<T>;
    const Unsigned x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
    return static_cast<T>(static_cast<Unsigned>(c) + static_cast<Unsigned>(a < b ? y - x : x - y));
  }
};

/// The product of the low 24 bits: 48 bits, of which the lower or the upper 32 are wanted.
template <bool high>
struct Multiply24 {
  static int64_t extend(int32_t a) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
  }
  static uint64_t extend(uint32_t a) { return a & 0xffffffu; }
  template <class T> static T of(T a, T b) {
    return static_cast<T>(extend(a) * extend(b) >> (high ? 16 : 0));
  }
};

/// Sum of products of bytes, or of 16-bit halves and bytes; each side with or without signs.
template <class A, class B>
struct DotProduct4 {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 32; i += 8) {
      c += static_cast<uint32_t>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
    }
    return c;
  }
};
template <class A, class B, bool high>
struct DotProduct2 {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 2; i++) {
      c += static_cast<uint32_t>(static_cast<A>(a >> 16 * i)) *
           static_cast<uint32_t>(static_cast<B>(b >> (8 * i + (high ? 16 : 0))));
    }
    return c;
  }
};

}  // namespace sgpu
