/// `wmma`: matrices in fragments whose layout is ours to choose. Element e of a lane is element
/// `lane * (elements of a lane) + e` of the matrix, by rows; where lanes have more elements than
/// the matrix, the matrix repeats.
#include <algorithm>
#include <string>

#include "../memory/access.h"
#include "fragments.h"
#include "matrix.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Space;

struct Shape {
  unsigned rows = 0, columns = 0, depth = 0;
};

Shape shapeOf(const Instruction& instruction, Decoding& decoding) {
  Shape shape;
  for (const std::string& word : instruction.modifiers) {
    if (sscanf(word.c_str(), "m%un%uk%u", &shape.rows, &shape.columns, &shape.depth) == 3) {
      return shape;
    }
  }
  decoding.refuse("a shape such as .m16n16k16 was expected");
  return shape;
}

/// How a matrix lies in registers.
struct Fragment {
  unsigned rows, columns;
  unsigned registers;
  unsigned size() const { return rows * columns; }
};

/// Calls `visit` with each lane's place in a register and the element of the matrix it holds.
template <class Visit>
void forEachElement(const Fragment& fragment, unsigned perRegister, Visit visit) {
  const unsigned perLane = fragment.registers * perRegister;
  for (unsigned reg = 0; reg < fragment.registers; reg++) {
    for (unsigned lane = 0; lane < kWarpLanes; lane++) {
      for (unsigned i = 0; i < perRegister; i++) {
        visit(reg, lane * perRegister + i,
              (lane * perLane + reg * perRegister + i) % fragment.size());
      }
    }
  }
}

// Load and store. Slots: 0 the address, 1-8 the registers, 9 the stride or kNoSlot.
// `Op::more`: see `Movement`.

constexpr unsigned kMostRegisters = 8, kStride = 9;

/// `lines` of `length` elements each, one `stride` behind the other.
struct Movement {
  uint32_t rows, columns, columnMajor, registers, space, wide;
};

template <class Raw, bool kLoad>
void moveMatrix(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const Movement& movement = *reinterpret_cast<const Movement*>(op.more);
  const uint32_t lines = movement.columnMajor ? movement.columns : movement.rows;
  const uint32_t length = movement.columnMajor ? movement.rows : movement.columns;
  const uint32_t stride =
      op.slots[kStride] == kNoSlot ? length : lanes<uint32_t>(op, warp, kStride)[0];
  const uint64_t address = laneAddress(op, warp, 0, 0, movement.wide);
  const uint32_t alignment = std::min<uint32_t>(16, length * sizeof(Raw));
  Raw* line[32];
  for (uint32_t i = 0; i < lines; i++) {
    const uint64_t at = address + uint64_t(i) * stride * sizeof(Raw);
    line[i] = reinterpret_cast<Raw*>(access(op, warp, 0, static_cast<Space>(movement.space), at,
                                            length * sizeof(Raw), alignment,
                                            kLoad ? Access::Read : Access::Write));
  }
  constexpr unsigned kPerRegister = sizeof(Raw) < 4 ? 4 / sizeof(Raw) : 1;
  forEachElement({movement.rows, movement.columns, movement.registers}, kPerRegister,
                 [&](unsigned reg, unsigned place, unsigned element) {
                   const uint32_t row = element / movement.columns;
                   const uint32_t column = element % movement.columns;
                   Raw& memory = movement.columnMajor ? line[column][row] : line[row][column];
                   Raw& held = lanes<Raw>(op, warp, 1 + reg)[place];
                   if (kLoad) held = memory;
                   else memory = held;
                 });
}

template <bool kLoad>
Handler movementOf(unsigned bits) {
  return bits == 8    ? moveMatrix<uint8_t, kLoad>
         : bits == 16 ? moveMatrix<uint16_t, kLoad>
         : bits == 32 ? moveMatrix<uint32_t, kLoad>
                      : moveMatrix<uint64_t, kLoad>;
}

void decodeMovement(const Instruction& instruction, Decoding& decoding, Op& op, bool isLoad) {
  const Shape shape = shapeOf(instruction, decoding);
  const bool isA = instruction.has("a"), isB = instruction.has("b");
  const unsigned bits = ptx::bitsOf(instruction.type);
  if (bits < 8) decoding.refuse("elements of 8 bits or more were expected");
  const ptx::Operand& memory = instruction.operands[isLoad ? 1 : 0];
  const ptx::Operand& fragment = instruction.operands[isLoad ? 0 : 1];
  const Address address = decodeAddress(memory, spaceOf(instruction), decoding, op);
  const unsigned registers = decodeElements(fragment, bits == 64 ? 64 : 32, decoding,
                                            op.slots + 1, kMostRegisters);
  if (instruction.operands.size() > 2) {
    op.slots[kStride] = decoding.slot(instruction.operands[2], 32);
  }
  const uint32_t rows = isB ? shape.depth : shape.rows;
  const uint32_t columns = isA ? shape.depth : shape.columns;
  if (rows > 32 || columns > 32) decoding.refuse("no matrix of this shape is known");
  op.more = decoding.more({rows, columns, instruction.has("col"), registers,
                           static_cast<uint32_t>(address.space), address.wide});
  op.flow = Flow::Meet;
  op.full = op.partial = isLoad ? movementOf<true>(bits) : movementOf<false>(bits);
}

// wmma.mma. `Op::more` holds the registers of d, a, b and c, then their numbers, then the shape.

enum Matrix : unsigned { kD, kA, kB, kC, kMatrices };
constexpr unsigned kNumbers = kMatrices * kMostRegisters, kShape = kNumbers + kMatrices;

template <class T>
struct Plain {
  using Raw = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};
struct HalfValue {
  using Raw = uint16_t;
  static float widen(uint16_t value) { return sgpu::widen(Half{value}); }
  static uint16_t narrow(float value) { return narrowToHalf(value).bits; }
};
struct BfloatValue {
  using Raw = uint16_t;
  static float widen(uint16_t value) { return sgpu::widen(BFloat{value}); }
};
struct TensorFloatValue {
  using Raw = uint32_t;
  static float widen(uint32_t value) { return truncateToTensorFloat(value); }
};

template <class Value>
constexpr unsigned perRegister = sizeof(typename Value::Raw) < 4 ? 4 / sizeof(typename Value::Raw)
                                                                 : 1;

template <class Value>
typename Value::Raw* registerOf(const Op& op, Warp& warp, Matrix matrix, unsigned reg) {
  return reinterpret_cast<typename Value::Raw*>(warp.registers +
                                                op.more[matrix * kMostRegisters + reg]);
}

template <class Value, class Sum>
void gather(const Op& op, Warp& warp, Matrix matrix, unsigned rows, unsigned columns, Sum* to) {
  forEachElement({rows, columns, op.more[kNumbers + matrix]}, perRegister<Value>,
                 [&](unsigned reg, unsigned place, unsigned element) {
                   to[element] = Value::widen(registerOf<Value>(op, warp, matrix, reg)[place]);
                 });
}

template <class Sum, class A, class B, class C, class D>
void multiply(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const unsigned rows = op.more[kShape], columns = op.more[kShape + 1], depth = op.more[kShape + 2];
  Sum a[32 * 16], b[16 * 32], c[32 * 32], left[16 * 8], sums[32 * 8];
  gather<A>(op, warp, kA, rows, depth, a);
  gather<B>(op, warp, kB, depth, columns, b);
  gather<C>(op, warp, kC, rows, columns, c);
  for (unsigned first = 0; first < columns; first += 8) {
    for (unsigned k = 0; k < depth; k++) std::copy_n(b + k * columns + first, 8, left + k * 8);
    for (unsigned row = 0; row < rows; row++) {
      std::copy_n(c + row * columns + first, 8, sums + row * 8);
    }
    multiplyTile(a, left, sums, rows, depth);
    for (unsigned row = 0; row < rows; row++) {
      std::copy_n(sums + row * 8, 8, c + row * columns + first);
    }
  }
  forEachElement({rows, columns, op.more[kNumbers + kD]}, perRegister<D>,
                 [&](unsigned reg, unsigned place, unsigned element) {
                   registerOf<D>(op, warp, kD, reg)[place] = D::narrow(c[element]);
                 });
}

/// Of `.satfinite`: the sum, which a double holds exactly, bounded.
struct BoundedWord {
  using Raw = int32_t;
  static int32_t narrow(double value) {
    return static_cast<int32_t>(std::clamp<double>(value, INT32_MIN, INT32_MAX));
  }
};

struct Kind {
  const char* types;  ///< as written: of d and c, or of all four
  bool wide;          ///< 64-bit registers
  Handler run;
  Handler bounded = nullptr;  ///< with `.satfinite`
};

template <class A, class B = A>
constexpr Handler inSingles = multiply<float, A, B, Plain<float>, Plain<float>>;
template <class A, class B>
constexpr Handler inWords = multiply<int32_t, Plain<A>, Plain<B>, Plain<int32_t>, Plain<int32_t>>;
template <class A, class B>
constexpr Handler bounded = multiply<double, Plain<A>, Plain<B>, Plain<int32_t>, BoundedWord>;

const Kind kKinds[] = {
    {"f32.f32", false, inSingles<HalfValue>},
    {"f16.f16", false, multiply<float, HalfValue, HalfValue, HalfValue, HalfValue>},
    {"f32.f16", false, multiply<float, HalfValue, HalfValue, HalfValue, Plain<float>>},
    {"f16.f32", false, multiply<float, HalfValue, HalfValue, Plain<float>, HalfValue>},
    {"f32.bf16.bf16.f32", false, inSingles<BfloatValue>},
    {"f32.tf32.tf32.f32", false, inSingles<TensorFloatValue>},
    {"f64.f64.f64.f64", true,
     multiply<double, Plain<double>, Plain<double>, Plain<double>, Plain<double>>},
    {"s32.s8.s8.s32", false, inWords<int8_t, int8_t>, bounded<int8_t, int8_t>},
    {"s32.u8.u8.s32", false, inWords<uint8_t, uint8_t>, bounded<uint8_t, uint8_t>},
};

void decodeMultiply(const Instruction& instruction, Decoding& decoding, Op& op) {
  const Shape shape = shapeOf(instruction, decoding);
  if (shape.rows > 32 || shape.rows % 8 || shape.columns > 32 || shape.columns % 8 ||
      shape.depth > 16) {
    decoding.refuse("no product of this shape is known");
  }
  std::string types;
  for (const std::string& word : instruction.modifiers) {
    const bool isType = word.find_first_not_of("bfstu0123456789") == std::string::npos;
    if (isType) types += (types.empty() ? "" : ".") + word;
  }
  const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& each) { return types == each.types; });
  if (kind == std::end(kKinds)) decoding.refuse("no product of these types is known");
  const Handler run = instruction.has("satfinite") ? kind->bounded : kind->run;
  if (!run) decoding.refuse("no bounded sums of these types are known");
  std::vector<uint32_t> more(kShape, 0);
  for (unsigned matrix = 0; matrix < kMatrices; matrix++) {
    more[kNumbers + matrix] =
        decodeElements(instruction.operands[matrix], kind->wide ? 64 : 32, decoding,
                       &more[matrix * kMostRegisters], kMostRegisters);
  }
  more.insert(more.end(), {shape.rows, shape.columns, shape.depth});
  op.more = decoding.more(more);
  op.flow = Flow::Meet;
  op.full = op.partial = run;
}

}  // namespace

void decodeWmma(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("load")) return decodeMovement(instruction, decoding, op, true);
  if (instruction.has("store")) return decodeMovement(instruction, decoding, op, false);
  decodeMultiply(instruction, decoding, op);
}

}  // namespace sgpu
