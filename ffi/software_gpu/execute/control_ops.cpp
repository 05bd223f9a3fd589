/// Barriers and what else acts on a warp as a whole.
#include "modifiers.h"
#include "operands.h"
#include "warp.h"

namespace sgpu {
namespace {

using ptx::Instruction;

void nothing(const Op&, Warp&, uint32_t) {}

void trap(const Op& op, Warp& warp, uint32_t mask) {
  fault(op, warp, kLaunchFailed, "the kernel executed a trap", 0, __builtin_ctz(mask));
}

void setBoth(Op& op, Handler handler) { op.full = op.partial = handler; }

/// `bar.red.popc.u32 d, id{, threads}, {!}p` and its kin for predicates.
void decodeReduction(const Instruction& instruction, ModifierList& words, Decoding& decoding,
                     Op& op) {
  const int kind = words.takeOneOf({"popc", "and", "or"});
  if (kind < 0) decoding.refuse("a reduction is .popc, .and or .or");
  const bool counts = kind == 0;
  const ptx::Type type = words.takeType();
  if (type != (counts ? ptx::Type::U32 : ptx::Type::Pred)) {
    decoding.refuse(counts ? ".popc gives a .u32" : ".and and .or give a .pred");
  }
  takeOperands(instruction, decoding, 3, 4);
  const auto& operands = instruction.operands;
  op.variant = static_cast<uint8_t>(counts      ? BarrierKind::CountTrue
                                    : kind == 1 ? BarrierKind::AllTrue
                                                : BarrierKind::AnyTrue);
  op.slots[0] = decoding.slot(operands[1], 32);
  if (operands.size() == 4) op.slots[1] = decoding.slot(operands[2], 32);
  op.slots[2] = counts ? decoding.slot(operands[0], 32) : decoding.predicate(operands[0]);
  op.slots[3] = decoding.predicate(operands.back());
  op.immediate = operands.back().negated;
}

void decodeBarrier(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  const auto& operands = instruction.operands;
  if (words.take("warp")) {
    if (!words.take("sync")) decoding.refuse("a barrier of a warp is .sync");
    takeOperands(instruction, decoding, 1, 1);
    op.flow = Flow::Meet;
    op.slots[kMembers] = decoding.slot(operands[0], 32);
    return words.end();
  }
  words.take("cta");
  words.take("aligned");
  op.flow = Flow::Barrier;
  const int kind = words.takeOneOf({"sync", "arrive", "red"});
  if (kind < 0) decoding.refuse("a barrier is .sync, .arrive or .red");
  if (kind == 2) {
    decodeReduction(instruction, words, decoding, op);
    return words.end();
  }
  takeOperands(instruction, decoding, kind == 1 ? 2 : 1, 2);
  op.variant = static_cast<uint8_t>(kind == 1 ? BarrierKind::Arrive : BarrierKind::Sync);
  op.slots[0] = decoding.slot(operands[0], 32);
  if (operands.size() == 2) op.slots[1] = decoding.slot(operands[1], 32);
  words.end();
}

void decodeNanosleep(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  if (words.takeType() != ptx::Type::U32) decoding.refuse("the duration is a .u32");
  takeOperands(instruction, decoding, 1, 1);
  // Named and not read: time passes by instructions.
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.flow = Flow::Yield;
  words.end();
}

void decodeTrap(const Instruction& instruction, Decoding& decoding, Op& op) {
  takeOperands(instruction, decoding, 0, 0);
  ModifierList(instruction, decoding).end();
  setBoth(op, trap);
}

void decodePmevent(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  words.take("mask");
  takeOperands(instruction, decoding, 1, 1);
  words.end();
  setBoth(op, nothing);
}

/// Hints about kernels that follow each other and about registers: nothing to do without them.
void decodeGridControl(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  if (words.takeOneOf({"launch_dependents", "wait"}) < 0) {
    decoding.refuse("is .launch_dependents or .wait");
  }
  takeOperands(instruction, decoding, 0, 0);
  words.end();
  setBoth(op, nothing);
}

void decodeRegisterCount(const Instruction& instruction, Decoding& decoding, Op& op) {
  ModifierList words(instruction, decoding);
  if (words.takeOneOf({"inc", "dec"}) < 0) decoding.refuse("is .inc or .dec");
  words.take("sync");
  words.take("aligned");
  words.takeType();
  takeOperands(instruction, decoding, 1, 1);
  words.end();
  setBoth(op, nothing);
}

}  // namespace

std::vector<OpcodeRow> controlOpcodes() {
  return {
      {"bar", decodeBarrier},
      {"barrier", decodeBarrier},
      {"nanosleep", decodeNanosleep, Writes::Nothing},
      {"trap", decodeTrap, Writes::Nothing},
      {"brkpt", decodeTrap, Writes::Nothing},
      {"pmevent", decodePmevent, Writes::Nothing},
      {"griddepcontrol", decodeGridControl, Writes::Nothing},
      {"setmaxnreg", decodeRegisterCount, Writes::Nothing},
  };
}

}  // namespace sgpu
