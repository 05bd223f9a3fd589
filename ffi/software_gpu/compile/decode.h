/// The seam between the compiler, which knows names and slots, and the instructions, each of which
/// knows its handler: one table per family, one row per opcode.
#pragma once

#include <cstdint>
#include <vector>

#include "../execute/op.h"
#include "../ptx/module.h"

namespace sgpu {

/// Where an instruction's address operand points.
struct Address {
  ptx::Space space;  ///< `Param` only for an entry's parameters; those of a `.func` are `Local`
  uint32_t slot;     ///< of the base register or symbol; kNoSlot when `offset` is all
  bool wide;         ///< the base is a 64-bit slot
  int64_t offset;
};

/// What a decoder may ask about the instruction's operands. The compiler has given every immediate
/// and every symbol a slot that holds it in all lanes (of the width that `width` names, float
/// immediates converted to the instruction's type), so most handlers know registers only.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// Byte offset of an operand's value; of `_`, of a slot that nobody reads. An immediate becomes a
  /// constant of `bits`. A register has to take as many bytes as one of `bits` does.
  virtual uint32_t slot(const ptx::Operand& operand, unsigned bits) = 0;
  /// Index of a predicate operand; of `_`, of one that nobody reads. An immediate 0 or 1 becomes a
  /// constant. Negation is not applied.
  virtual uint32_t predicate(const ptx::Operand& operand) = 0;
  /// Of `d|p`: index of p, or kNoSlot.
  virtual uint32_t secondPredicate(const ptx::Operand& operand) = 0;
  /// Width in bits of the register behind an operand, 1 for a predicate: PTX lets a register be
  /// wider than the instruction's type (`ld.u8 %r`, `cvt.u32.u16`). 16-bit registers report 16 and
  /// lie in 32-bit slots with their upper half unspecified on reading, so handlers mask it.
  virtual unsigned registerBits(const ptx::Operand& operand) = 0;
  /// Name of the special register that an operand is (`%clock64`), nullptr for any other operand.
  virtual const char* special(const ptx::Operand& operand) = 0;
  /// Resolves a memory operand of an instruction in `space`.
  virtual Address address(const ptx::Operand& operand, ptx::Space space) = 0;
  /// A table of slots that outlives the op.
  virtual const uint32_t* more(const std::vector<uint32_t>& slots) = 0;
  /// @throws CompileError naming the instruction, its line, and `why`.
  [[noreturn]] virtual void refuse(const char* why) = 0;
};

using Decoder = void (*)(const ptx::Instruction& instruction, Decoding& decoding, Op& op);

/// What an instruction does with its operands, for liveness.
enum class Writes : uint8_t {
  First,  ///< the first operand (register, pair `d|p`, or every element of a vector)
  Nothing,
};

struct OpcodeRow {
  const char* opcode;
  Decoder decode;
  Writes writes = Writes::First;
};

// One table per family. `bra`, `brx`, `call`, `ret` and `exit` are the compiler's and the warp's
// own.
std::vector<OpcodeRow> controlOpcodes();     ///< bar, barrier, nanosleep, trap ...
std::vector<OpcodeRow> arithmeticOpcodes();  ///< add, mul, fma, div, min ... of integers and floats
std::vector<OpcodeRow> bitOpcodes();         ///< and, shl, bfe, prmt, lop3, shf, popc ...
std::vector<OpcodeRow> comparisonOpcodes();  ///< setp, set, selp, slct, testp
std::vector<OpcodeRow> conversionOpcodes();  ///< cvt, cvta, mov with the packing of vectors
std::vector<OpcodeRow> memoryOpcodes();      ///< ld, ldu, st, prefetch, isspacep ...
std::vector<OpcodeRow> atomicOpcodes();      ///< atom, red, fence, membar
std::vector<OpcodeRow> warpOpcodes();        ///< shfl, vote, match, redux, activemask, elect ...
std::vector<OpcodeRow> matrixOpcodes();      ///< mma, wmma, ldmatrix, stmatrix, movmatrix
std::vector<OpcodeRow> asyncOpcodes();       ///< cp.async, mbarrier

}  // namespace sgpu
