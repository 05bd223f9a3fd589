/// A module made ready to run: ops with slots instead of instructions with names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../execute/op.h"
#include "../ptx/module.h"

namespace sgpu {

/// A slot that holds the same value in all lanes for as long as its frame lives.
struct Constant {
  enum class Kind : uint8_t {
    Value,          ///< an immediate, or an address known when the module was loaded
    Local,          ///< address of a local variable: the frame's local offset + value
    DynamicShared,  ///< offset of `extern .shared x[]`: behind the static variables
  };
  uint32_t slot;
  uint8_t bits;  ///< 1 for a predicate, 32 or 64
  Kind kind;
  uint64_t value;
};

/// A slot of a special register; filled when a frame is made.
struct SpecialSlot {
  uint32_t slot;
  uint8_t bits;  ///< 32 or 64
  std::string name;  ///< `%tid.x`
};

/// Where a parameter lies: of an entry in the launch's parameter buffer, of a `.func` in its frame's
/// local memory.
struct ParamLayout {
  uint32_t offset;
  uint32_t bytes;
};

struct FunctionCode {
  std::string name;
  bool isEntry = false;
  uint32_t begin = 0;            ///< its first op in `Program::ops`
  uint32_t end = 0;
  uint32_t registerBytes = 0;    ///< of one frame of one warp, a multiple of 128
  uint32_t predicates = 0;
  uint32_t registersPerThread = 0;  ///< for CU_FUNC_ATTRIBUTE_NUM_REGS: 32-bit slots after allocation
  uint32_t localBytes = 0;       ///< of one thread in one frame, a multiple of 16
  uint32_t sharedBytes = 0;      ///< static
  uint32_t paramBytes = 0;       ///< of an entry
  bool usesDynamicShared = false;
  uint32_t maxThreads = 0;       ///< 0 where not given
  uint32_t requiredThreads[3] = {0, 0, 0};
  std::vector<ParamLayout> params, results;
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
};

/// A call's arguments: copied from the caller's local memory to the callee's, and back.
struct CallSite {
  std::vector<uint32_t> arguments;  ///< offsets in the caller's local memory
  std::vector<uint32_t> argumentBytes;
  std::vector<uint32_t> results;
  std::vector<uint32_t> resultBytes;
};

struct Program {
  std::vector<Op> ops;
  std::vector<FunctionCode> functions;
  std::unordered_map<std::string, uint32_t> byName;
  std::vector<CallSite> callSites;               ///< `Op::immediate` of calls
  std::vector<std::vector<uint32_t>> branchTargets;  ///< `Op::immediate` of `brx.idx`
  std::vector<std::unique_ptr<uint32_t[]>> moreSlots;
};

/// The address of a function as a register holds it: recognisable, so that garbage is noticed.
constexpr uint64_t kFunctionAddressBase = 0x00f0'0000'0000'0000;
constexpr uint64_t functionAddress(uint32_t index) { return kFunctionAddressBase + 16 * index; }

/// Addresses of the module's global and const variables, which the driver has taken memory for.
using AddressOf = std::function<uint64_t(const ptx::Variable&)>;

/// An instruction that is unknown or used wrongly, a symbol that is nowhere: `what()` names line and
/// text.
struct CompileError : std::exception {
  std::string message;
  explicit CompileError(const std::string& message) : message(message) {}
  const char* what() const noexcept override { return message.c_str(); }
};

/// @throws CompileError
std::unique_ptr<Program> compile(const ptx::Module& module, const AddressOf& addressOf);

}  // namespace sgpu
