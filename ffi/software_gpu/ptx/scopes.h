/// The names of a function's body. `{ ... }` opens a scope whose names hide those outside; what it
/// declares is renamed, since `Function` has one list of registers, variables and labels.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module.h"

namespace sgpu::ptx {

class Scopes {
 public:
  explicit Scopes(Function& function) : function_(function) { open(); }

  void open();
  /// Gives the labels of the innermost scope their final names wherever its code mentions them:
  /// a label may be used before it is declared.
  void close();
  size_t depth() const { return scopes_.size(); }

  /// @returns Whether the name was free in the innermost scope.
  bool declareRegister(std::string_view name, Type type);
  /// `%r<100>`, i.e. `%r0` to `%r99`. A register is made when it is first mentioned, so that a large
  /// number in a short text costs nothing.
  bool declareRegisters(std::string_view prefix, uint32_t count, Type type);
  bool declareVariable(Variable variable);
  /// @returns The label's final name, empty when it is taken.
  std::string declareLabel(std::string_view name);
  /// `.branchtargets` and `.calltargets`: the label has to be declared first.
  void addTargets(const std::string& label, std::vector<std::string> names);

  /// Index of a register, special ones included; -1 when there is none of this name.
  int findRegister(std::string_view name);
  /// The final name of a variable of the body; any other name is returned as it is.
  std::string resolve(std::string_view name) const;

 private:
  struct Range {
    uint32_t count;
    Type type;
  };
  struct Scope {
    std::unordered_map<std::string, int> registers;
    std::unordered_map<std::string, Range> ranges;
    std::unordered_map<std::string, std::string> variables, labels;
    std::vector<std::string> targetLists;
    size_t code;  ///< index of its first instruction
    uint32_t serial;
  };

  std::string finalName(std::string_view name) const;
  int addRegister(Scope& scope, const std::string& name, Type type, bool special);

  Function& function_;
  std::vector<Scope> scopes_;
  uint32_t serials_ = 0;
};

}  // namespace sgpu::ptx
