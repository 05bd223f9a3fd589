#include "control_flow.h"

#include <algorithm>

#include "../execute/system_calls.h"
#include "errors.h"
#include "flow_graph.h"

namespace sgpu {

namespace {

using ptx::Instruction;
using ptx::Operand;

/// The operands of `call (results), target, (arguments), prototype`, of which any but the target may
/// be missing.
struct Call {
  const Operand* results = nullptr;
  const Operand* target = nullptr;
  const Operand* arguments = nullptr;
  const Operand* prototype = nullptr;
};

Call readCall(const Instruction& instruction) {
  Call call;
  size_t next = 0;
  auto takeIf = [&](auto... kinds) -> const Operand* {
    if (next == instruction.operands.size()) return nullptr;
    const Operand& operand = instruction.operands[next];
    bool fits = ((operand.kind == kinds) || ...);
    if (fits) next++;
    return fits ? &operand : nullptr;
  };
  using Kind = Operand::Kind;
  call.results = takeIf(Kind::Vector, Kind::None);
  call.target = takeIf(Kind::Symbol, Kind::Register);
  call.arguments = takeIf(Kind::Vector, Kind::None);
  call.prototype = takeIf(Kind::Symbol);
  if (!call.target || next != instruction.operands.size()) {
    refuse(instruction, "expected (results), function, (arguments), prototype");
  }
  return call;
}

std::vector<uint32_t> sizesOf(const std::vector<ptx::Variable>& variables) {
  std::vector<uint32_t> sizes;
  for (const ptx::Variable& variable : variables) {
    sizes.push_back(static_cast<uint32_t>(variable.bytes));
  }
  return sizes;
}

/// Offsets in local memory of the variables that a call passes, checked against what is expected.
std::vector<uint32_t> placeArguments(const Instruction& instruction, const Symbols& symbols,
                                     const Operand* given, const std::vector<uint32_t>& sizes,
                                     const char* what) {
  size_t count = given ? given->elements.size() : 0;
  if (count != sizes.size()) {
    refuse(instruction, "takes " + std::to_string(sizes.size()) + " " + what + ", given are " +
                            std::to_string(count));
  }
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < count; i++) {
    const Operand& argument = given->elements[i];
    Place place;
    bool found = argument.kind == Operand::Kind::Symbol && symbols.find(argument.symbol, place) &&
                 place.kind == Constant::Kind::Local;
    if (!found) refuse(instruction, "expected variables of space `.param` as " + std::string(what));
    if (place.bytes != sizes[i]) {
      refuse(instruction, "`" + argument.symbol + "` has " + std::to_string(place.bytes) +
                              " bytes where the function has " + std::to_string(sizes[i]));
    }
    offsets.push_back(static_cast<uint32_t>(place.value));
  }
  return offsets;
}

}  // namespace

bool ControlFlow::decode(const Instruction& instruction, FunctionDecoding& decoding, Op& op) {
  if (instruction.opcode == "bra") {
    op.flow = Flow::Branch;
    op.target = begin_ + branchTargets(function_, instruction)[0];
  } else if (instruction.opcode == "brx") {
    decodeIndirectBranch(instruction, decoding, op);
  } else if (instruction.opcode == "call") {
    decodeCall(instruction, decoding, op);
  } else if (instruction.opcode == "ret" || instruction.opcode == "exit") {
    if (!instruction.operands.empty()) refuse(instruction, "takes no operands");
    op.flow = instruction.opcode == "ret" && !function_.isEntry ? Flow::Return : Flow::Exit;
  } else {
    return false;
  }
  for (const std::string& word : instruction.modifiers) {
    bool known = word == "uni" || (word == "idx" && instruction.opcode == "brx");
    if (!known) refuse(instruction, "modifier `." + word + "` is unknown");
  }
  return true;
}

void ControlFlow::decodeIndirectBranch(const Instruction& instruction, FunctionDecoding& decoding,
                                       Op& op) {
  std::vector<uint32_t> targets = branchTargets(function_, instruction);
  for (uint32_t& target : targets) target += begin_;
  op.flow = Flow::IndirectBranch;
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  auto [list, isNew] = lists_.emplace(instruction.operands[1].symbol,
                                     static_cast<uint32_t>(program_.branchTargets.size()));
  if (isNew) program_.branchTargets.push_back(std::move(targets));
  op.immediate = list->second;
}

void ControlFlow::decodeCall(const Instruction& instruction, FunctionDecoding& decoding, Op& op) {
  Call call = readCall(instruction);
  CallSite site;
  auto place = [&] {
    site.arguments = placeArguments(instruction, symbols_, call.arguments, site.argumentBytes,
                                    "arguments");
    site.results = placeArguments(instruction, symbols_, call.results, site.resultBytes,
                                  "results");
  };
  if (call.target->kind == Operand::Kind::Register) {
    auto prototype = function_.prototypes.find(call.prototype ? call.prototype->symbol : "");
    if (prototype == function_.prototypes.end()) {
      refuse(instruction, "expected a `.callprototype` behind the arguments");
    }
    op.flow = Flow::IndirectCall;
    op.slots[0] = decoding.slot(*call.target, 64);
    site.argumentBytes = sizesOf(prototype->second.params);
    site.resultBytes = sizesOf(prototype->second.results);
  } else if (int index = symbols_.functionIndex(call.target->symbol); index >= 0) {
    const ptx::Function& callee = symbols_.function(index);
    if (callee.isEntry) refuse(instruction, "`" + callee.name + "` is a kernel");
    op.flow = Flow::Call;
    op.target = static_cast<uint32_t>(index);
    site.argumentBytes = sizesOf(callee.params);
    site.resultBytes = sizesOf(callee.results);
  } else if (const SystemCall* system = findSystemCall(call.target->symbol)) {
    site.argumentBytes = system->argumentBytes;
    site.resultBytes = system->resultBytes;
    place();
    op.full = op.partial = system->handler;
    std::copy(site.results.begin(), site.results.end(),
              std::copy(site.arguments.begin(), site.arguments.end(), op.slots));
    return;
  } else {
    refuse(instruction, "function `" + call.target->symbol + "` has no body");
  }
  place();
  op.immediate = static_cast<int64_t>(program_.callSites.size());
  program_.callSites.push_back(std::move(site));
}

}  // namespace sgpu
