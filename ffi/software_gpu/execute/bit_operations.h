/// What bit instructions compute, lane by lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sgpu {

struct And { template <class T> static T of(T a, T b) { return a & b; } };
struct Or { template <class T> static T of(T a, T b) { return a | b; } };
struct Xor { template <class T> static T of(T a, T b) { return a ^ b; } };
struct Not { template <class T> static T of(T a) { return static_cast<T>(~a); } };
/// C's `!`.
struct LogicalNot { template <class T> static T of(T a) { return a == 0; } };

/// Shifts by more than the width act as shifts by all of it.
struct ShiftLeft {
  template <class T> static T of(T a, uint32_t by) {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << (by & (8 * sizeof(T) - 1)));
  }
};
struct ShiftRight {
  template <class T> static T of(T a, uint32_t by) {
    const uint32_t last = 8 * sizeof(T) - 1;
    const T gone = std::is_signed_v<T> ? static_cast<T>(a >> last) : T{0};
    return by > last ? gone : static_cast<T>(a >> (by & last));
  }
};

/// 32 bits out of the 64 of (high, low).
template <bool left, bool wrap>
struct FunnelShift {
  static uint32_t of(uint32_t low, uint32_t high, uint32_t by) {
    const uint32_t n = wrap ? by & 31 : std::min<uint32_t>(by, 32);
    const uint64_t both = uint64_t{high} << 32 | low;
    return static_cast<uint32_t>(left ? both << n >> 32 : both >> n);
  }
};

/// The field at `position` of `length` bits; beyond the top there is the sign.
struct ExtractField {
  template <class T> static T of(T a, uint32_t position, uint32_t length) {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    const uint32_t top = std::min(position + length - 1, bits - 1);
    const bool negative = std::is_signed_v<T> && (a >> top & 1) != 0;
    const T fill = negative ? static_cast<T>(-1) : T{0};
    if (position >= bits) return fill;
    const T shifted = static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) >> position);
    const uint32_t kept = top - position + 1;
    if (kept >= bits) return shifted;
    const T mask = static_cast<T>((std::make_unsigned_t<T>{1} << kept) - 1);
    return (shifted & mask) | (fill & ~mask);
  }
};
struct InsertField {
  template <class T> static T of(T a, T b, uint32_t position, uint32_t length) {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (position >= bits || length == 0) return b;
    const T ones = length >= bits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    const T mask = static_cast<T>(ones << position);
    return (b & ~mask) | (static_cast<T>(a << position) & mask);
  }
};

struct CountOnes {
  static uint32_t of(uint32_t a) { return __builtin_popcount(a); }
  static uint32_t of(uint64_t a) { return __builtin_popcountll(a); }
};
struct LeadingZeros {
  static uint32_t of(uint32_t a) { return a ? __builtin_clz(a) : 32; }
  static uint32_t of(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
};
/// Position of the highest bit that differs from the sign; as a shift, its distance from the top.
template <bool asShift>
struct FindHighest {
  template <class T> static uint32_t of(T a) {
    using Unsigned = std::make_unsigned_t<T>;
    const Unsigned bits = static_cast<Unsigned>(a < 0 ? ~a : a);
    if (!bits) return ~0u;
    const uint32_t zeros = LeadingZeros::of(bits);
    return asShift ? zeros : 8 * sizeof(T) - 1 - zeros;
  }
};
struct Reverse {
  template <class T> static T of(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); i++) result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};

/// The n-th set bit from a base, upwards or downwards.
struct FindNthSet {
  static uint32_t of(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31) return ~0u;
    if (offset == 0) return mask >> base & 1 ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step) {
      if ((mask >> i & 1) && --left == 0) return static_cast<uint32_t>(i);
    }
    return ~0u;
  }
};

/// Extends from a width of so many bits.
template <bool wrap>
struct ExtendFrom {
  template <class T> static T of(T a, uint32_t width) {
    const uint32_t n = wrap ? width & 31 : std::min<uint32_t>(width, 32);
    if (n == 0) return 0;
    const uint32_t shift = 32 - n;
    return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << shift) >> shift);
  }
};
/// `length` ones from a position on.
template <bool wrap>
struct BitMask {
  static uint32_t of(uint32_t position, uint32_t length) {
    const uint32_t p = wrap ? position & 31 : position, n = wrap ? length & 31 : length;
    if (p >= 32 || n == 0) return 0;
    return (n >= 32 ? ~0u : (1u << n) - 1) << p;
  }
};

}  // namespace sgpu
