/// One bit for each byte of a piece of memory: whether somebody has written it.
#pragma once

#include <cstdint>
#include <vector>

namespace sgpu {

class WrittenBits {
 public:
  /// Forgets everything.
  void reset(uint64_t bytes) { words_.assign((bytes + 63) / 64, 0); }

  void set(uint64_t begin, uint64_t end, bool written) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t bits = wordPart(at, end);
      if (written) words_[at / 64] |= bits;
      else words_[at / 64] &= ~bits;
      at = (at / 64 + 1) * 64;
    }
  }

  /// @returns `end` when all are written.
  uint64_t firstUnwritten(uint64_t begin, uint64_t end) const {
    for (uint64_t at = begin; at < end;) {
      const uint64_t missing = ~words_[at / 64] & wordPart(at, end);
      if (missing != 0) return at / 64 * 64 + __builtin_ctzll(missing);
      at = (at / 64 + 1) * 64;
    }
    return end;
  }

 private:
  /// The bits of [at, end) in the word of `at`.
  static uint64_t wordPart(uint64_t at, uint64_t end) {
    const uint64_t from = ~uint64_t(0) << (at % 64);
    const uint64_t last = at / 64 * 64 + 64;
    return end >= last ? from : from & ~(~uint64_t(0) << (end % 64));
  }

  std::vector<uint64_t> words_;
};

}  // namespace sgpu
