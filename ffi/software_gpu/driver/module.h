/// Modules: PTX made ready to run, with memory for its variables.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../compile/program.h"
#include "../ptx/module.h"
#include "context.h"

namespace sgpu {

struct Global {
  uint64_t address = 0, bytes = 0;
};

struct Module {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  std::shared_ptr<const Program> program;
  unsigned ptxVersion = 0, target = 0;    ///< 80 for 8.0, as attributes tell them
  std::map<std::string, Global> globals;
  std::map<std::string, uint64_t> functions;  ///< handles of entries, all of them

  Module() = default;
  Module(const Module&) = delete;
  ~Module();
};

/// An entry of a module, as `CUfunction` and `CUkernel` name it.
struct Function {
  uint64_t handle = 0;
  std::shared_ptr<const Program> program;
  std::weak_ptr<Module> module;
  std::shared_ptr<Context> context;
  uint32_t index = 0;
  std::atomic<uint32_t> maxDynamicShared{48 << 10};
  std::atomic<int> preferredCarveout{-1};

  const FunctionCode& code() const { return program->functions[index]; }
  /// How many of its threads a block may have.
  uint32_t maxThreads() const;
};

Handles<Module>& modules();
Handles<Function>& functions();
std::shared_ptr<Function> functionOf(CUfunction handle);

/// Why an image does not become a module.
struct ImageError {
  int code;
  std::string message;
};

/// @param texts PTX whose declarations find each other's definitions
/// @throws ImageError, Failure
std::shared_ptr<Module> loadModule(const std::shared_ptr<Context>& context,
                                   const std::vector<std::string>& texts);
/// Its handle and those of its functions are void, its memory goes.
void unloadModule(const std::shared_ptr<Module>& module);

}  // namespace sgpu
