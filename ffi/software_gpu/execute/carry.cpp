/// Arithmetic of numbers longer than a register: each lane has a carry that one instruction leaves
/// and the next may take.
#include "arithmetic.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

/// `Op::variant`
enum Carry : uint8_t { kTakes = 1, kLeaves = 2, kSubtracts = 4, kHigh = 8, kSigned = 16 };

template <class T>
T product(const Op& op, T a, T b) {
  using Signed = std::make_signed_t<T>;
  using Wide = std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>;
  using SignedWide = std::conditional_t<sizeof(T) == 8, __int128, int64_t>;
  if (!(op.variant & kHigh)) return a * b;
  if (op.variant & kSigned) {
    return static_cast<T>(SignedWide{static_cast<Signed>(a)} * static_cast<Signed>(b) >>
                          8 * sizeof(T));
  }
  return static_cast<T>(Wide{a} * b >> 8 * sizeof(T));
}

/// d = a + b, a - b (borrowing), or a * b + c, with carry.
template <class T, bool multiplies>
void carry(const Op& op, Warp& warp, uint32_t mask) {
  T* d = lanes<T>(op, warp, 0);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    const bool in = op.variant & kTakes && warp.carry >> lane & 1;
    T a = lanes<T>(op, warp, 1)[lane], b = lanes<T>(op, warp, 2)[lane];
    if (multiplies) {
      a = product(op, a, b);
      b = lanes<T>(op, warp, 3)[lane];
    }
    T partial, result;
    bool out;
    if (op.variant & kSubtracts) {
      out = __builtin_sub_overflow(a, b, &partial);
      out |= __builtin_sub_overflow(partial, T{in}, &result);
    } else {
      out = __builtin_add_overflow(a, b, &partial);
      out |= __builtin_add_overflow(partial, T{in}, &result);
    }
    d[lane] = result;
    if (op.variant & kLeaves) warp.carry = (warp.carry & ~(1u << lane)) | uint32_t{out} << lane;
  }
}

}  // namespace

void decodeCarry(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const std::string& opcode = instruction.opcode;
  const Type type = words.takeType();
  const unsigned bits = ptx::bitsOf(type);
  if (ptx::isFloat(type) || bits < 32) decoding.refuse("does not exist for this type");
  const bool multiplies = opcode == "mad" || opcode == "madc";
  if (words.take("cc")) op.variant |= kLeaves;
  if (opcode.back() == 'c') op.variant |= kTakes;
  if (opcode == "sub" || opcode == "subc") op.variant |= kSubtracts;
  if (ptx::isSigned(type)) op.variant |= kSigned;
  if (multiplies) {
    const int part = words.takeOneOf({"lo", "hi"});
    if (part < 0) decoding.refuse("adds to .lo or .hi of a product");
    if (part == 1) op.variant |= kHigh;
  }
  sameSlots(instruction, decoding, op, bits, multiplies ? 4 : 3);
  const Handler handlers[2][2] = {{carry<uint32_t, false>, carry<uint32_t, true>},
                                  {carry<uint64_t, false>, carry<uint64_t, true>}};
  op.full = op.partial = handlers[bits == 64][multiplies];
  words.end();
}

}  // namespace sgpu
