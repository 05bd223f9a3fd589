/// Fragments of `mma`. One register of 32 lanes, read as memory, is a tile of 8 rows that are 4 lanes
/// wide, whatever its type: rows of A, columns of B, rows of a 16-bit C.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX__) || defined(__F16C__)
#include <immintrin.h>
#endif

#include "float_format.h"

namespace sgpu {

/// What a tensor core sees of a register: 10 bits of fraction.
inline float truncateToTensorFloat(uint32_t bits) { return bitsAs<float>(bits & 0xffffe000); }

// Element types of A and B. `kPerRow` elements lie in `kRowBytes`; `Sum` is what they are summed in.

struct HalfElement {
  using Sum = float;
  static constexpr unsigned kPerRow = 8, kRowBytes = 16;
  static void widenRow(const uint8_t* row, float* to) {
#ifdef __F16C__
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(row))));
#else
    for (unsigned i = 0; i < kPerRow; i++) {
      to[i] = widen(reinterpret_cast<const Half*>(row)[i]);
    }
#endif
  }
};

struct BfloatElement {
  using Sum = float;
  static constexpr unsigned kPerRow = 8, kRowBytes = 16;
  static void widenRow(const uint8_t* row, float* to) {
    for (unsigned i = 0; i < kPerRow; i++) {
      to[i] = widen(reinterpret_cast<const BFloat*>(row)[i]);
    }
  }
};

struct TensorFloatElement {
  using Sum = float;
  static constexpr unsigned kPerRow = 4, kRowBytes = 16;
  static void widenRow(const uint8_t* row, float* to) {
    for (unsigned i = 0; i < kPerRow; i++) {
      to[i] = truncateToTensorFloat(reinterpret_cast<const uint32_t*>(row)[i]);
    }
  }
};

struct DoubleElement {
  using Sum = double;
  static constexpr unsigned kPerRow = 4, kRowBytes = 32;
  static void widenRow(const uint8_t* row, double* to) { std::memcpy(to, row, kRowBytes); }
};

template <class T>
struct ByteElement {
  using Sum = int32_t;
  static constexpr unsigned kPerRow = 16, kRowBytes = 16;
  static void widenRow(const uint8_t* row, int32_t* to) {
    for (unsigned i = 0; i < kPerRow; i++) to[i] = static_cast<T>(row[i]);
  }
};

template <bool kSigned>
struct NibbleElement {
  using Sum = int32_t;
  static constexpr unsigned kPerRow = 32, kRowBytes = 16;
  static void widenRow(const uint8_t* row, int32_t* to) {
    for (unsigned i = 0; i < kPerRow; i++) {
      const int32_t value = row[i / 2] >> (i % 2 * 4) & 15;
      to[i] = kSigned && value > 7 ? value - 16 : value;
    }
  }
};

/// The tile of one register as 8 rows of a matrix whose rows are `stride` apart.
template <class Element>
void widenTile(const uint8_t* tile, typename Element::Sum* to, unsigned stride) {
  for (unsigned row = 0; row < 8; row++) {
    Element::widenRow(tile + row * Element::kRowBytes, to + row * stride);
  }
}

// Sums: the types of C and D, 8 columns wide.

/// Two registers: each lane holds two neighbouring columns.
template <class T>
struct WideSums {
  using Sum = T;
  static constexpr unsigned kRegisters = 2;  // of 8 rows
  static void load(const uint8_t* const* tiles, T* to) {
    const T* even = reinterpret_cast<const T*>(tiles[0]);
    const T* odd = reinterpret_cast<const T*>(tiles[1]);
    for (unsigned lane = 0; lane < 32; lane++) {
      to[2 * lane] = even[lane];
      to[2 * lane + 1] = odd[lane];
    }
  }
  static void store(const T* sums, uint8_t* const* tiles) {
    T* even = reinterpret_cast<T*>(tiles[0]);
    T* odd = reinterpret_cast<T*>(tiles[1]);
    for (unsigned lane = 0; lane < 32; lane++) {
      even[lane] = sums[2 * lane];
      odd[lane] = sums[2 * lane + 1];
    }
  }
};

/// One register of pairs.
struct HalfSums {
  using Sum = float;
  static constexpr unsigned kRegisters = 1;
  static void load(const uint8_t* const* tiles, float* to) {
    widenTile<HalfElement>(tiles[0], to, 8);
  }
  static void store(const float* sums, uint8_t* const* tiles) {
    Half* to = reinterpret_cast<Half*>(tiles[0]);
    for (unsigned i = 0; i < 64; i++) to[i] = narrowToHalf(sums[i]);
  }
};

/// Eight sums at once, of a kind that compilers keep in registers.
template <class Sum>
struct EightOf {
  typedef Sum Type __attribute__((vector_size(8 * sizeof(Sum)), aligned(4)));
};

/// Products of 16-bit and TF32 values are exact in binary32, so that fused or not is the same.
inline EightOf<float>::Type multiplyAdd(float a, EightOf<float>::Type b, EightOf<float>::Type c) {
#if defined(__AVX__) && defined(__FMA__)
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
#else
  return a * b + c;
#endif
}
inline EightOf<int32_t>::Type multiplyAdd(int32_t a, EightOf<int32_t>::Type b,
                                          EightOf<int32_t>::Type c) {
  using Words = EightOf<uint32_t>::Type;  // sums that are not bounded wrap
  return (EightOf<int32_t>::Type)(static_cast<uint32_t>(a) * (Words)b + (Words)c);
}
inline EightOf<double>::Type multiplyAdd(double a, EightOf<double>::Type b,
                                         EightOf<double>::Type c) {
  for (unsigned i = 0; i < 8; i++) c[i] = std::fma(a, b[i], c[i]);
  return c;
}

/// c[rows][8] += a[rows][depth] * b[depth][8]; rows come in fours.
template <class Sum>
inline __attribute__((always_inline)) void multiplyTile(const Sum* a, const Sum* b, Sum* c,
                                                        unsigned rows, unsigned depth) {
  using Eight = typename EightOf<Sum>::Type;
  Eight* sums = reinterpret_cast<Eight*>(c);
  const Eight* right = reinterpret_cast<const Eight*>(b);
  for (unsigned row = 0; row < rows; row += 4, a += 4 * depth, sums += 4) {
    Eight sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
    for (unsigned k = 0; k < depth; k++) {
      sum0 = multiplyAdd(a[k], right[k], sum0);
      sum1 = multiplyAdd(a[depth + k], right[k], sum1);
      sum2 = multiplyAdd(a[2 * depth + k], right[k], sum2);
      sum3 = multiplyAdd(a[3 * depth + k], right[k], sum3);
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
  }
}

}  // namespace sgpu
