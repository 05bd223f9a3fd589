#include "control_flow.h"

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

/// Offsets in local memory of the variables that a call passes, checked against what is declared.
void placeArguments(const Instruction& instruction, const Symbols& symbols, const Operand* given,
                    const std::vector<ptx::Variable>& declared, const char* what,
                    std::vector<uint32_t>& offsets, std::vector<uint32_t>& bytes) {
  size_t count = given ? given->elements.size() : 0;
  if (count != declared.size()) {
    refuse(instruction, "takes " + std::to_string(declared.size()) + " " + what + ", given are " +
                            std::to_string(count));
  }
  for (size_t i = 0; i < count; i++) {
    const Operand& argument = given->elements[i];
    Place place;
    bool found = argument.kind == Operand::Kind::Symbol && symbols.find(argument.symbol, place) &&
                 place.kind == Constant::Kind::Local;
    if (!found) refuse(instruction, "expected variables of space `.param` as " + std::string(what));
    if (place.bytes != declared[i].bytes) {
      refuse(instruction, "`" + argument.symbol + "` has " + std::to_string(place.bytes) +
                              " bytes where the function has " +
                              std::to_string(declared[i].bytes));
    }
    offsets.push_back(static_cast<uint32_t>(place.value));
    bytes.push_back(static_cast<uint32_t>(place.bytes));
  }
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
  const std::vector<ptx::Variable>* params = nullptr;
  const std::vector<ptx::Variable>* results = nullptr;
  if (call.target->kind == Operand::Kind::Symbol) {
    int index = symbols_.functionIndex(call.target->symbol);
    const ptx::Function* callee = index < 0 ? nullptr : &symbols_.function(index);
    if (!callee || callee->isEntry) {
      refuse(instruction, "`" + call.target->symbol + "` is no function with a body");
    }
    op.flow = Flow::Call;
    op.target = static_cast<uint32_t>(index);
    params = &callee->params;
    results = &callee->results;
  } else {
    std::string name = call.prototype ? call.prototype->symbol : "";
    auto prototype = function_.prototypes.find(name);
    op.flow = Flow::IndirectCall;
    op.slots[0] = decoding.slot(*call.target, 64);
    if (prototype != function_.prototypes.end()) {
      params = &prototype->second.params;
      results = &prototype->second.results;
    } else {
      refuse(instruction, "expected a `.callprototype` behind the arguments");
    }
  }
  CallSite site;
  placeArguments(instruction, symbols_, call.arguments, *params, "arguments", site.arguments,
                 site.argumentBytes);
  placeArguments(instruction, symbols_, call.results, *results, "results", site.results,
                 site.resultBytes);
  op.immediate = static_cast<int64_t>(program_.callSites.size());
  program_.callSites.push_back(std::move(site));
}

}  // namespace sgpu
