#include "liveness.h"

#include <algorithm>

#include "errors.h"
#include "opcodes.h"

namespace sgpu {

namespace {

/// Steps from block to block: far more than a real kernel takes, a second or so.
constexpr uint64_t kMostSteps = 50'000'000;

/// Where a register is read before it is written, or written without a guard, block by block.
struct Mentions {
  std::vector<uint32_t> needed, written;
};

}  // namespace

std::vector<Interval> findIntervals(const ptx::Function& function, const FlowGraph& graph) {
  std::vector<Interval> intervals(function.registers.size());
  auto extend = [&](size_t index, uint32_t at) {
    intervals[index].begin = std::min(intervals[index].begin, at);
    intervals[index].end = std::max(intervals[index].end, at);
  };

  std::vector<Mentions> mentions(function.registers.size());
  for (uint32_t number = 0; number < graph.blocks.size(); number++) {
    const BasicBlock& block = graph.blocks[number];
    auto note = [&](std::vector<uint32_t>& blocks) {
      if (blocks.empty() || blocks.back() != number) blocks.push_back(number);
    };
    for (uint32_t at = block.begin; at < block.end; at++) {
      const ptx::Instruction& instruction = function.code[at];
      visitRegisters(instruction, [&](int index, bool isWritten) {
        extend(index, at);
        const std::vector<uint32_t>& written = mentions[index].written;
        bool fromOutside = written.empty() || written.back() != number;
        if (!isWritten && fromOutside) note(mentions[index].needed);
      });
      if (instruction.guard >= 0) continue;
      visitRegisters(instruction, [&](int index, bool isWritten) {
        if (isWritten) note(mentions[index].written);
      });
    }
  }

  // For each register, from the blocks that need it backwards to those that give it.
  std::vector<uint32_t> liveIn(graph.blocks.size(), ~0u), given(graph.blocks.size(), ~0u);
  std::vector<uint32_t> todo;
  uint64_t steps = 0;
  for (uint32_t index = 0; index < function.registers.size(); index++) {
    if (mentions[index].needed.empty()) continue;
    for (uint32_t block : mentions[index].written) given[block] = index;
    auto enter = [&](uint32_t block) {
      if (liveIn[block] == index) return;
      liveIn[block] = index;
      extend(index, graph.blocks[block].begin);
      todo.push_back(block);
    };
    for (uint32_t block : mentions[index].needed) enter(block);
    while (!todo.empty()) {
      const BasicBlock& block = graph.blocks[todo.back()];
      todo.pop_back();
      steps += 1 + block.predecessors.size();
      for (uint32_t before : block.predecessors) {
        extend(index, graph.blocks[before].end - 1);
        if (given[before] != index) enter(before);
      }
    }
    if (steps > kMostSteps) {
      refuse(function.line, "function `" + function.name + "` is too large to compile");
    }
  }
  return intervals;
}

}  // namespace sgpu
