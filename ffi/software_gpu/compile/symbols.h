/// Where variables lie: in the launch's parameters, in a frame's local memory, in the block's shared
/// memory, or at an address of the device.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "../ptx/module.h"
#include "program.h"

namespace sgpu {

/// What a symbol stands for. Parameters of `.func`s and of call sites are in space `Local`.
struct Place {
  ptx::Space space;
  Constant::Kind kind;
  uint64_t value;
  uint64_t bytes;  ///< 0 for a function and for dynamic shared memory
};

/// Shared memory that the system keeps for itself, at the begin of a block's: cooperative groups of
/// several warps meet in it. A special register says where.
/// @returns Its value; -1 for a register that is about something else.
int reservedShared(const std::string& special);

class Symbols {
 public:
  /// Numbers the functions that have a body and lays out shared memory.
  /// @throws CompileError
  Symbols(const ptx::Module& module, const AddressOf& addressOf);

  /// Lays out the parameters and variables of a function, and says so in `code`. `find` then knows
  /// its names, before those of the module.
  /// @throws CompileError
  void enter(const ptx::Function& function, FunctionCode& code);

  /// @returns Whether the name is a variable that has a place, or a function that has a body.
  bool find(const std::string& name, Place& place) const;
  /// Index in `Program::functions` of a function or an alias, -1 for any other name.
  int functionIndex(const std::string& name) const;
  const ptx::Function& function(int index) const { return *functions_[index]; }
  const std::unordered_map<std::string, uint32_t>& functions() const { return indices_; }

 private:
  /// What a function, or any of them, touches.
  struct Uses {
    std::vector<const ptx::Variable*> shared;  ///< of the module, in order of declaration
    bool dynamicShared = false;
    bool reservedShared = false;
    bool calls = false;
  };

  Uses usesOf(const ptx::Function& function) const;
  void shareCommon(const ptx::Variable& variable);
  void enterShared(const ptx::Function& function, FunctionCode& code);
  void placeParams(const std::vector<ptx::Variable>& params, ptx::Space space, uint64_t& end,
                   std::vector<ParamLayout>& layouts);

  const AddressOf& addressOf_;
  std::unordered_map<std::string, uint32_t> indices_;
  std::vector<const ptx::Function*> functions_;
  std::unordered_map<std::string, const ptx::Variable*> variables_;
  /// Shared variables that a `.func` touches have one place in all kernels.
  std::unordered_map<const ptx::Variable*, uint64_t> common_;
  uint64_t commonBytes_ = 0;
  uint32_t dynamicAlignment_ = 16;
  bool functionsUseDynamic_ = false;
  std::unordered_map<std::string, Place> places_;  ///< of the function entered last
};

}  // namespace sgpu
