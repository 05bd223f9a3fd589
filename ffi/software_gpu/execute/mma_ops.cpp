/// `mma.sync`: d = a * b + c on fragments whose layout the ISA fixes.
#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>

#include "fragments.h"
#include "matrix.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

// `Op::more` holds the registers of the four matrices, at these places.
constexpr unsigned kD = 0, kA = 8, kB = 16, kC = 20, kRegisters = 28;

// `Op::variant`
constexpr uint8_t kSixteenRows = 1, kSaturate = 2, kColumnsOfA = 4, kRowsOfB = 8;

template <unsigned kCount>
struct Tiles {
  uint8_t* at[kCount];
  Tiles(const Op& op, Warp& warp, unsigned first, unsigned count) {
    for (unsigned i = 0; i < count; i++) at[i] = warp.registers + op.more[first + i];
  }
};

/// A product whose sums may leave 32 bits: `.satfinite` bounds the exact result.
void multiplyBounded(const int32_t* a, const int32_t* b, int32_t* c, unsigned rows,
                     unsigned depth) {
  for (unsigned row = 0; row < rows; row++) {
    for (unsigned n = 0; n < 8; n++) {
      int64_t sum = c[row * 8 + n];
      for (unsigned k = 0; k < depth; k++) sum += a[row * depth + k] * b[k * 8 + n];
      c[row * 8 + n] = static_cast<int32_t>(
          std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
    }
  }
}

template <class A, class B, class Sums>
inline __attribute__((always_inline)) void multiplyShape(const Op& op, Warp& warp, unsigned bands,
                                                         unsigned depth) {
  using Sum = typename Sums::Sum;
  const unsigned steps = depth / A::kPerRow;
  constexpr unsigned kDepth = std::max(A::kPerRow * 2, 16u);
  alignas(64) Sum a[16 * kDepth], columns[8 * kDepth], b[8 * kDepth], c[16 * 8];
  for (unsigned step = 0; step < steps; step++) {
    for (unsigned band = 0; band < bands; band++) {
      widenTile<A>(warp.registers + op.more[kA + step * bands + band],
                   a + band * 8 * depth + step * A::kPerRow, depth);
    }
    widenTile<B>(warp.registers + op.more[kB + step], columns + step * B::kPerRow, depth);
  }
  for (unsigned k = 0; k < depth; k++) {
    for (unsigned n = 0; n < 8; n++) b[k * 8 + n] = columns[n * depth + k];
  }
  const Tiles<4> before(op, warp, kC, bands * Sums::kRegisters);
  const Tiles<4> after(op, warp, kD, bands * Sums::kRegisters);
  for (unsigned band = 0; band < bands; band++) {
    Sums::load(before.at + band * Sums::kRegisters, c + band * 64);
  }
  if constexpr (std::is_same_v<Sum, int32_t>) {
    if (op.variant & kSaturate) multiplyBounded(a, b, c, bands * 8, depth);
    else multiplyTile(a, b, c, bands * 8, depth);
  } else {
    multiplyTile(a, b, c, bands * 8, depth);
  }
  for (unsigned band = 0; band < bands; band++) {
    Sums::store(c + band * 64, after.at + band * Sums::kRegisters);
  }
}

template <class A, class B, class Sums>
void multiply(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const unsigned bands = op.variant & kSixteenRows ? 2 : 1;  // of 8 rows
  const unsigned depth = static_cast<unsigned>(op.immediate);
  // The shape that kernels use is compiled on its own: its loops unroll.
  constexpr unsigned kUsual = 2 * A::kPerRow;
  if (bands == 2 && depth == kUsual) multiplyShape<A, B, Sums>(op, warp, 2, kUsual);
  else multiplyShape<A, B, Sums>(op, warp, bands, depth);
}

/// m8n8k128 and m16n8k256 of single bits: sums of the ones in `a op b`.
template <bool kAnd>
void multiplyBits(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const unsigned bands = op.variant & kSixteenRows ? 2 : 1;
  const unsigned steps = static_cast<unsigned>(op.immediate) / 128;
  const auto word = [&](unsigned first, unsigned row, unsigned i) {
    return reinterpret_cast<const uint32_t*>(warp.registers + op.more[first])[row * 4 + i];
  };
  int32_t c[64];
  for (unsigned band = 0; band < bands; band++) {
    const Tiles<2> before(op, warp, kC + 2 * band, 2), after(op, warp, kD + 2 * band, 2);
    WideSums<int32_t>::load(before.at, c);
    for (unsigned row = 0; row < 8; row++) {
      for (unsigned n = 0; n < 8; n++) {
        for (unsigned i = 0; i < steps * 4; i++) {
          const uint32_t left = word(kA + i / 4 * bands + band, row, i % 4);
          const uint32_t right = word(kB + i / 4, n, i % 4);
          c[row * 8 + n] += __builtin_popcount(kAnd ? left & right : left ^ right);
        }
      }
    }
    WideSums<int32_t>::store(c, after.at);
  }
}

/// m8n8k4 of binary16: four products at once, each by two groups of four lanes, in layouts of its
/// own.
template <bool kHalfC, bool kHalfD>
void multiplyQuads(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const auto half = [&](unsigned first, unsigned lane, unsigned i) -> Half& {
    return reinterpret_cast<Half*>(warp.registers + op.more[first + i / 2])[2 * lane + i % 2];
  };
  const auto single = [&](unsigned first, unsigned lane, unsigned i) -> float& {
    return reinterpret_cast<float*>(warp.registers + op.more[first + i])[lane];
  };
  float a[4][8][4], b[4][4][8], c[4][8][8];
  const bool columnsOfA = op.variant & kColumnsOfA, rowsOfB = op.variant & kRowsOfB;
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    const unsigned product = lane / 4 % 4, own = lane % 4, upper = lane >= 16 ? 4 : 0;
    for (unsigned i = 0; i < 4; i++) {
      const float left = widen(half(kA, lane, i)), right = widen(half(kB, lane, i));
      columnsOfA ? a[product][i + upper][own] = left : a[product][own + upper][i] = left;
      rowsOfB ? b[product][own][i + upper] = right : b[product][i][own + upper] = right;
    }
  }
  const auto forEachSum = [&](bool isHalf, auto visit) {
    for (unsigned lane = 0; lane < kWarpLanes; lane++) {
      const unsigned product = lane / 4 % 4, upper = lane >= 16 ? 4 : 0;
      for (unsigned i = 0; i < 8; i++) {
        const unsigned row = isHalf ? lane % 4 : (lane & 1) + (i & 2);
        const unsigned column = isHalf ? i : (i & 4) + (lane & 2) + (i & 1);
        visit(lane, i, c[product][row + upper][column]);
      }
    }
  };
  forEachSum(kHalfC, [&](unsigned lane, unsigned i, float& sum) {
    sum = kHalfC ? widen(half(kC, lane, i)) : single(kC, lane, i);
  });
  for (unsigned product = 0; product < 4; product++) {
    multiplyTile(a[product][0], b[product][0], c[product][0], 8, 4);
  }
  forEachSum(kHalfD, [&](unsigned lane, unsigned i, float& sum) {
    if (kHalfD) half(kD, lane, i) = narrowToHalf(sum);
    else single(kD, lane, i) = sum;
  });
}

struct Kind {
  const char *d, *a, *b, *c;
  unsigned bits;            ///< of an element of A
  unsigned sumRegisters;    ///< of 8 rows
  unsigned registerBits;    ///< of all
  Handler run;
};

using S8 = ByteElement<int8_t>;
using U8 = ByteElement<uint8_t>;
using S4 = NibbleElement<true>;
using U4 = NibbleElement<false>;

const Kind kKinds[] = {
    {"f32", "f16", "f16", "f32", 16, 2, 32, multiply<HalfElement, HalfElement, WideSums<float>>},
    {"f16", "f16", "f16", "f16", 16, 1, 32, multiply<HalfElement, HalfElement, HalfSums>},
    {"f32", "bf16", "bf16", "f32", 16, 2, 32,
     multiply<BfloatElement, BfloatElement, WideSums<float>>},
    {"f32", "tf32", "tf32", "f32", 32, 2, 32,
     multiply<TensorFloatElement, TensorFloatElement, WideSums<float>>},
    {"f64", "f64", "f64", "f64", 64, 2, 64,
     multiply<DoubleElement, DoubleElement, WideSums<double>>},
    {"s32", "s8", "s8", "s32", 8, 2, 32, multiply<S8, S8, WideSums<int32_t>>},
    {"s32", "s8", "u8", "s32", 8, 2, 32, multiply<S8, U8, WideSums<int32_t>>},
    {"s32", "u8", "s8", "s32", 8, 2, 32, multiply<U8, S8, WideSums<int32_t>>},
    {"s32", "u8", "u8", "s32", 8, 2, 32, multiply<U8, U8, WideSums<int32_t>>},
    {"s32", "s4", "s4", "s32", 4, 2, 32, multiply<S4, S4, WideSums<int32_t>>},
    {"s32", "s4", "u4", "s32", 4, 2, 32, multiply<S4, U4, WideSums<int32_t>>},
    {"s32", "u4", "s4", "s32", 4, 2, 32, multiply<U4, S4, WideSums<int32_t>>},
    {"s32", "u4", "u4", "s32", 4, 2, 32, multiply<U4, U4, WideSums<int32_t>>},
    {"s32", "b1", "b1", "s32", 1, 2, 32, multiplyBits<false>},
};

/// The four types, and all else that the instruction says.
struct Described {
  std::vector<std::string> types;
  unsigned rows = 0, columns = 0, depth = 0;
  std::vector<bool> columnMajor;
};

Described describe(const Instruction& instruction, Decoding& decoding) {
  Described described;
  for (const std::string& word : instruction.modifiers) {
    if (word == "sync" || word == "aligned" || word == "satfinite" || word == "xor" ||
        word == "and" || word == "popc" || word == "rn") {
      continue;
    }
    if (word == "row" || word == "col") {
      described.columnMajor.push_back(word == "col");
    } else if (sscanf(word.c_str(), "m%un%uk%u", &described.rows, &described.columns,
                      &described.depth) != 3) {
      described.types.push_back(word);
    }
  }
  if (described.types.size() != 4 || described.columnMajor.size() != 2 || described.depth == 0) {
    decoding.refuse("a shape, two layouts and four types were expected");
  }
  return described;
}

void decodeRegisters(const Operand& operand, unsigned count, unsigned bits, Decoding& decoding,
                     uint32_t* slots) {
  if (decodeElements(operand, bits, decoding, slots, 8) != count) {
    decoding.refuse(("fragments of " + std::to_string(count) + " registers were expected").c_str());
  }
}

void decodeQuads(const Instruction& instruction, Decoding& decoding, Op& op,
                 const Described& described, std::vector<uint32_t>& slots) {
  const bool halfD = described.types[0] == "f16", halfC = described.types[3] == "f16";
  decodeRegisters(instruction.operands[0], halfD ? 4 : 8, 32, decoding, &slots[kD]);
  decodeRegisters(instruction.operands[1], 2, 32, decoding, &slots[kA]);
  decodeRegisters(instruction.operands[2], 2, 32, decoding, &slots[kB]);
  decodeRegisters(instruction.operands[3], halfC ? 4 : 8, 32, decoding, &slots[kC]);
  op.variant = (described.columnMajor[0] ? kColumnsOfA : 0) |
               (described.columnMajor[1] ? 0 : kRowsOfB);
  op.full = op.partial = halfC ? (halfD ? multiplyQuads<true, true> : multiplyQuads<true, false>)
                               : (halfD ? multiplyQuads<false, true> : multiplyQuads<false, false>);
}

}  // namespace

void decodeMma(const Instruction& instruction, Decoding& decoding, Op& op) {
  const Described described = describe(instruction, decoding);
  const std::vector<std::string>& types = described.types;
  std::vector<uint32_t> slots(kRegisters, 0);
  op.flow = Flow::Meet;
  const bool ofHalves = types[1] == "f16" && types[2] == "f16";
  if (ofHalves && described.rows == 8 && described.columns == 8 && described.depth == 4) {
    decodeQuads(instruction, decoding, op, described, slots);
    op.more = decoding.more(slots);
    return;
  }
  const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) {
    return types[0] == each.d && types[1] == each.a && types[2] == each.b && types[3] == each.c;
  });
  if (kind == std::end(kKinds)) decoding.refuse("no product of these types is known");
  const unsigned perRow = 4 * kind->registerBits / kind->bits;
  const unsigned bands = described.rows / 8, steps = described.depth / perRow;
  const unsigned mostSteps = bands == 1 ? 1 : kind->bits == 64 ? 4 : 2;
  if ((described.rows != 8 && described.rows != 16) || described.columns != 8 ||
      described.depth % perRow != 0 || steps == 0 || steps > mostSteps ||
      (bands == 1 && kind->bits > 8 && kind->bits != 64)) {
    decoding.refuse("no product of this shape is known");
  }
  if (described.columnMajor[0] || !described.columnMajor[1]) {
    decoding.refuse("layouts .row.col were expected");
  }
  decodeRegisters(instruction.operands[0], bands * kind->sumRegisters, kind->registerBits,
                  decoding, &slots[kD]);
  decodeRegisters(instruction.operands[1], bands * steps, kind->registerBits, decoding,
                  &slots[kA]);
  decodeRegisters(instruction.operands[2], steps, kind->registerBits, decoding, &slots[kB]);
  decodeRegisters(instruction.operands[3], bands * kind->sumRegisters, kind->registerBits,
                  decoding, &slots[kC]);
  op.more = decoding.more(slots);
  op.immediate = described.depth;
  op.variant = (bands == 2 ? kSixteenRows : 0) | (instruction.has("satfinite") ? kSaturate : 0);
  op.full = op.partial = kind->bits == 1 && instruction.has("and") ? multiplyBits<true> : kind->run;
}

}  // namespace sgpu
