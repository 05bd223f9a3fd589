#include "flow_graph.h"

#include "errors.h"

namespace sgpu {

namespace {

using ptx::Instruction;
using ptx::Operand;

/// Many indirect branches over one long list would have their product.
constexpr size_t kMostEdges = 1 << 22;

bool isBranch(const Instruction& instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx";
}

bool leaves(const Instruction& instruction) {
  return instruction.opcode == "ret" || instruction.opcode == "exit";
}

/// Lanes that part here, or wait for others, go on together behind it.
bool isMeeting(const Instruction& instruction) {
  return instruction.opcode == "call" || instruction.opcode == "bar" ||
         instruction.opcode == "barrier";
}

const std::string& symbolOf(const Instruction& instruction, size_t index) {
  if (instruction.operands.size() != index + 1) refuse(instruction, "wrong number of operands");
  const Operand& operand = instruction.operands[index];
  if (operand.kind != Operand::Kind::Symbol) refuse(instruction, "expected a label");
  return operand.symbol;
}

}  // namespace

uint32_t labelTarget(const ptx::Function& function, const Instruction& instruction,
                     const std::string& label) {
  auto found = function.labels.find(label);
  if (found == function.labels.end()) refuse(instruction, "label `" + label + "` is nowhere");
  return found->second;
}

std::vector<uint32_t> branchTargets(const ptx::Function& function,
                                    const Instruction& instruction) {
  if (instruction.opcode == "bra") {
    return {labelTarget(function, instruction, symbolOf(instruction, 0))};
  }
  if (instruction.opcode != "brx") return {};
  const std::string& list = symbolOf(instruction, 1);
  auto found = function.targets.find(list);
  if (found == function.targets.end()) {
    refuse(instruction, "`" + list + "` is no list of `.branchtargets`");
  }
  std::vector<uint32_t> targets;
  for (const std::string& label : found->second) {
    targets.push_back(labelTarget(function, instruction, label));
  }
  return targets;
}

FlowGraph makeFlowGraph(const ptx::Function& function) {
  uint32_t count = static_cast<uint32_t>(function.code.size());
  FlowGraph graph;
  size_t edges = 0;
  graph.leaders.assign(count + 1, false);
  graph.leaders[0] = true;
  std::vector<bool> begins(count + 1, false);
  begins[0] = true;
  for (uint32_t i = 0; i < count; i++) {
    const Instruction& instruction = function.code[i];
    std::vector<uint32_t> targets = branchTargets(function, instruction);
    edges += targets.size();
    if (edges > kMostEdges) refuse(instruction, "too many branches in one function");
    for (uint32_t target : targets) begins[target] = true;
    if (isBranch(instruction) || leaves(instruction)) begins[i + 1] = true;
    if (isMeeting(instruction)) graph.leaders[i + 1] = true;
  }
  std::vector<uint32_t> blockOf(count + 1);
  for (uint32_t i = 0; i <= count; i++) {
    if (begins[i]) {
      graph.leaders[i] = true;
      graph.blocks.push_back({i, i, {}, {}});
    }
    blockOf[i] = static_cast<uint32_t>(graph.blocks.size() - 1);
    graph.blocks.back().end = i + 1;
  }
  // The instruction behind the last one is the `ret` that every function ends with.
  graph.blocks.back().end = count;
  for (uint32_t index = 0; index < graph.blocks.size(); index++) {
    BasicBlock& block = graph.blocks[index];
    if (block.begin == block.end) continue;
    const Instruction& last = function.code[block.end - 1];
    for (uint32_t target : branchTargets(function, last)) {
      block.successors.push_back(blockOf[target]);
    }
    bool stays = !(isBranch(last) || leaves(last)) || last.guard >= 0;
    if (stays && index + 1 < graph.blocks.size()) block.successors.push_back(index + 1);
    for (uint32_t successor : block.successors) {
      graph.blocks[successor].predecessors.push_back(index);
    }
  }
  return graph;
}

}  // namespace sgpu
