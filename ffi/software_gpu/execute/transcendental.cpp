#include "transcendental.h"

#include "arithmetic.h"
#include "lanewise.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

template <class F>
Handler single(bool ftz) {
  return ftz ? unary<Modified<F, true, false>, float, float> : unary<F, float, float>;
}

Handler handlerOf(const std::string& opcode, bool ftz) {
  if (opcode == "ex2") return single<Exp2>(ftz);
  if (opcode == "lg2") return single<Log2>(ftz);
  if (opcode == "tanh") return single<Tanh>(ftz);
  if (opcode == "rsqrt") return single<ReciprocalRoot>(ftz);
  if (opcode == "sin") return single<Sine>(ftz);
  if (opcode == "cos") return single<Cosine>(ftz);
  return nullptr;
}

Handler doubleHandlerOf(const std::string& opcode, bool ftz) {
  if (opcode == "rsqrt") {
    return ftz ? unary<UpperHalf<ReciprocalRoot>, double, double>
               : unary<ReciprocalRoot, double, double>;
  }
  return opcode == "rcp" && ftz ? unary<UpperHalf<Reciprocal>, double, double> : nullptr;
}

}  // namespace

void decodeTranscendental(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  if (!words.take("approx")) decoding.refuse("exists only as .approx");
  const bool ftz = words.take("ftz");
  const Type type = words.takeType();
  const Handler handler = type == Type::F32   ? handlerOf(instruction.opcode, ftz)
                          : type == Type::F64 ? doubleHandlerOf(instruction.opcode, ftz)
                                              : nullptr;
  if (!handler) decoding.refuse("does not exist for this type");
  const unsigned bits = ptx::bitsOf(type);
  sameSlots(instruction, decoding, op, bits, 2);
  setLanewise(op, handler, bits);
  words.end();
}

}  // namespace sgpu
