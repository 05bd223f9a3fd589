/// Where control can go in a function.
#pragma once

#include <cstdint>
#include <vector>

#include "../ptx/module.h"

namespace sgpu {

/// Instructions that run one after the other: `begin` up to `end`.
struct BasicBlock {
  uint32_t begin, end;
  std::vector<uint32_t> successors, predecessors;  ///< indices of blocks
};

struct FlowGraph {
  std::vector<BasicBlock> blocks;
  /// By instruction, one more than there are: begins a block or is where parted lanes may go on
  /// together, i.e. also behind calls and barriers.
  std::vector<bool> leaders;
};

/// Index of the instruction behind a label.
/// @throws CompileError naming `instruction`
uint32_t labelTarget(const ptx::Function& function, const ptx::Instruction& instruction,
                     const std::string& label);

/// The places that a branch may go to; empty for other instructions.
/// @throws CompileError
std::vector<uint32_t> branchTargets(const ptx::Function& function,
                                    const ptx::Instruction& instruction);

/// @throws CompileError
FlowGraph makeFlowGraph(const ptx::Function& function);

}  // namespace sgpu
