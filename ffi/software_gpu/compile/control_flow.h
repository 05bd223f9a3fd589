/// The instructions that the compiler knows itself: branches, calls and returns.
#pragma once

#include "function_decoding.h"

namespace sgpu {

/// Resolves the branches and calls of one function.
class ControlFlow {
 public:
  /// `begin` is the function's first op.
  ControlFlow(const ptx::Function& function, const Symbols& symbols, Program& program,
              uint32_t begin)
      : function_(function), symbols_(symbols), program_(program), begin_(begin) {}

  /// @returns Whether the opcode is one of these.
  /// @throws CompileError
  bool decode(const ptx::Instruction& instruction, FunctionDecoding& decoding, Op& op);

 private:
  void decodeIndirectBranch(const ptx::Instruction& instruction, FunctionDecoding& decoding,
                            Op& op);
  void decodeCall(const ptx::Instruction& instruction, FunctionDecoding& decoding, Op& op);

  const ptx::Function& function_;
  const Symbols& symbols_;
  Program& program_;
  uint32_t begin_;
  std::unordered_map<std::string, uint32_t> lists_;  ///< of `.branchtargets`, by label
};

}  // namespace sgpu
