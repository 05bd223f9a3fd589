#include "permute.h"

#include "lanewise.h"

namespace sgpu {
namespace {

/// Byte `index` of eight.
uint32_t byteOf(uint64_t bytes, unsigned index) { return bytes >> 8 * (index & 7) & 0xff; }

struct ByNibbles {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
      const uint32_t nibble = selector >> 4 * i;
      const uint32_t byte = byteOf(bytes, nibble & 7);
      const uint32_t sign = byte & 0x80 ? 0xff : 0;
      result |= (nibble & 8 ? sign : byte) << 8 * i;
    }
    return result;
  }
};

/// The sources of the four result bytes for each of the four selectors, lowest first.
using Table = const uint8_t[4][4];
Table kForward = {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}};
Table kBackward = {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}};
Table kReplicate8 = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
Table kClampLeft = {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}};
Table kClampRight = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}};
Table kReplicate16 = {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}};

template <Table& table>
struct ByTable {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) result |= byteOf(bytes, table[selector & 3][i]) << 8 * i;
    return result;
  }
};

template <class F>
constexpr Handler handler = ternary<F, uint32_t, uint32_t>;

}  // namespace

Handler permuteHandler(int mode) {
  switch (mode) {
    case 0: return handler<ByTable<kForward>>;
    case 1: return handler<ByTable<kBackward>>;
    case 2: return handler<ByTable<kReplicate8>>;
    case 3: return handler<ByTable<kClampLeft>>;
    case 4: return handler<ByTable<kClampRight>>;
    case 5: return handler<ByTable<kReplicate16>>;
    default: return handler<ByNibbles>;
  }
}

}  // namespace sgpu
