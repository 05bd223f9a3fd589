#include "module.h"

#include <algorithm>
#include <cstring>

#include "../memory/allocations.h"
#include "../memory/shadow.h"
#include "image.h"
#include "options.h"

namespace sgpu {
namespace {

/// The newest PTX version that the compiler was made for.
constexpr unsigned kNewestPtx = 95;
constexpr uint64_t kConstantBytes = 64 << 10;

/// One module of all: what one text declares, another may define.
ptx::Module parseAll(const std::vector<std::string>& texts) {
  ptx::Module all;
  for (const std::string& text : texts) {
    ptx::Module one = ptx::parse(text.data(), text.size());
    const unsigned version = one.versionMajor * 10 + one.versionMinor;
    if (version > kNewestPtx) {
      throw ImageError{CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                       "PTX " + std::to_string(one.versionMajor) + "." +
                           std::to_string(one.versionMinor) + " is newer than 9.5"};
    }
    if (!runsHere(one.target)) {
      throw ImageError{CUDA_ERROR_INVALID_PTX,
                       "the PTX is for " + one.target + ", the device is sm_" +
                           std::to_string(options().computeCapability)};
    }
    if (texts.size() == 1) return one;
    if (all.target.empty() || targetOf(one.target) > targetOf(all.target)) {
      all.target = one.target;
      all.versionMajor = one.versionMajor;
      all.versionMinor = one.versionMinor;
    }
    for (auto& function : one.functions) {
      auto other = std::find_if(all.functions.begin(), all.functions.end(),
                                [&](const auto& known) { return known.name == function.name; });
      if (other == all.functions.end()) {
        all.functions.push_back(std::move(function));
      } else if (function.isDefined) {
        if (other->isDefined) {
          throw ImageError{CUDA_ERROR_INVALID_IMAGE, "two definitions of " + function.name};
        }
        *other = std::move(function);
      }
    }
    for (auto& variable : one.variables) {
      auto other = std::find_if(all.variables.begin(), all.variables.end(),
                                [&](const auto& known) { return known.name == variable.name; });
      if (other == all.variables.end()) {
        all.variables.push_back(std::move(variable));
      } else if (other->isExtern) {
        *other = std::move(variable);
      } else if (!variable.isExtern) {
        throw ImageError{CUDA_ERROR_INVALID_IMAGE, "two definitions of " + variable.name};
      }
    }
    all.aliases.merge(one.aliases);
  }
  return all;
}

bool isInMemory(const ptx::Variable& variable) {
  return variable.space == ptx::Space::Global || variable.space == ptx::Space::Const;
}

void takeMemory(Module& module, const ptx::Module& source) {
  uint64_t constants = 0;
  for (const ptx::Variable& variable : source.variables) {
    if (!isInMemory(variable) || variable.isExtern) continue;
    if (variable.space == ptx::Space::Const) constants += variable.bytes;
    if (constants > kConstantBytes) {
      throw ImageError{CUDA_ERROR_INVALID_PTX, "more than 64 KiB of constants"};
    }
    Allocation wanted;
    wanted.kind = Allocation::Kind::Module;
    wanted.bytes = std::max<uint64_t>(variable.bytes, 1);
    wanted.device = module.context->device.ordinal;
    wanted.context = module.context->handle;
    const Allocation made = allocations().make(wanted, module.context->device.budget, false);
    module.globals[variable.name] = {made.begin, variable.bytes};
    // A module's variables have values from the start: given ones, and zeros behind them.
    std::memset(reinterpret_cast<void*>(made.begin), 0, wanted.bytes);
    markWritten(made.begin, made.begin + made.bytes);
  }
}

uint64_t addressOfSymbol(const Module& module, const std::string& symbol) {
  if (auto global = module.globals.find(symbol); global != module.globals.end()) {
    return global->second.address;
  }
  auto function = module.program->byName.find(symbol);
  if (function == module.program->byName.end()) {
    throw ImageError{CUDA_ERROR_INVALID_PTX,
                     "an initialiser names " + symbol + ", which is nowhere"};
  }
  return functionAddress(function->second);
}

void initialise(const Module& module, const ptx::Module& source) {
  for (const ptx::Variable& variable : source.variables) {
    if (!isInMemory(variable) || variable.isExtern) continue;
    auto* memory = reinterpret_cast<uint8_t*>(module.globals.at(variable.name).address);
    std::copy(variable.initial.begin(), variable.initial.end(), memory);
    for (const ptx::Relocation& relocation : variable.relocations) {
      const uint64_t value = addressOfSymbol(module, relocation.symbol) +
                             static_cast<uint64_t>(relocation.addend);
      std::memcpy(memory + relocation.at, &value, relocation.bytes);
    }
  }
}

}  // namespace

Handles<Module>& modules() {
  static Handles<Module>& all = *new Handles<Module>(Kind::Module);
  return all;
}

Handles<Function>& functions() {
  static Handles<Function>& all = *new Handles<Function>(Kind::Function);
  return all;
}

std::shared_ptr<Function> functionOf(CUfunction handle) {
  return functions().get(asNumber(handle));
}

uint32_t Function::maxThreads() const {
  const FunctionCode& kernel = code();
  const uint32_t required =
      kernel.requiredThreads[0] * kernel.requiredThreads[1] * kernel.requiredThreads[2];
  const uint32_t declared = required ? required : kernel.maxThreads;
  return declared ? std::min(declared, Limits::threadsPerBlock) : Limits::threadsPerBlock;
}

Module::~Module() {
  for (const auto& [name, global] : globals) {
    // A context that is destroyed has freed them already.
    if (!context->alive) return;
    allocations().free(global.address, context->device.budget,
                       [](const Allocation& one) { return one.kind == Allocation::Kind::Module; });
  }
}

std::shared_ptr<Module> loadModule(const std::shared_ptr<Context>& context,
                                   const std::vector<std::string>& texts) {
  auto module = std::make_shared<Module>();
  module->context = context;
  try {
    const ptx::Module source = parseAll(texts);
    module->ptxVersion = source.versionMajor * 10 + source.versionMinor;
    module->target = targetOf(source.target);
    takeMemory(*module, source);
    module->program = compile(source, [&](const ptx::Variable& variable) {
      auto global = module->globals.find(variable.name);
      if (global == module->globals.end()) {
        throw CompileError("line " + std::to_string(variable.line) + ": " + variable.name +
                           " is declared extern and defined nowhere");
      }
      return global->second.address;
    });
    initialise(*module, source);
  } catch (const ptx::ParseError& error) {
    throw ImageError{CUDA_ERROR_INVALID_PTX, error.message};
  } catch (const CompileError& error) {
    throw ImageError{CUDA_ERROR_INVALID_PTX, error.message};
  }
  for (uint32_t index = 0; index < module->program->functions.size(); index++) {
    const FunctionCode& code = module->program->functions[index];
    if (!code.isEntry) continue;
    auto function = std::make_shared<Function>();
    function->program = module->program;
    function->module = module;
    function->context = context;
    function->index = index;
    module->functions[code.name] = functions().add(std::move(function));
  }
  modules().add(module);
  return module;
}

void unloadModule(const std::shared_ptr<Module>& module) {
  modules().remove(module->handle);
  for (const auto& [name, handle] : module->functions) functions().remove(handle);
}

}  // namespace sgpu
