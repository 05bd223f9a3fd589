#include "symbols.h"

#include <algorithm>
#include <set>

#include "errors.h"

namespace sgpu {

namespace {

using ptx::Function;
using ptx::Operand;
using ptx::Space;
using ptx::Variable;

constexpr uint32_t kReservedBytes = 512;
constexpr uint32_t kReservedForGroups = 128;  ///< they take up to 288 bytes from here on
/// Of static shared memory; a launch may ask for more of the dynamic kind.
constexpr uint64_t kMostSharedBytes = 48 << 10;
constexpr uint64_t kMostLocalBytes = 512 << 10;
constexpr uint64_t kMostParamBytes = 32764;

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Takes the next place behind `end` that is aligned.
uint64_t append(const Variable& variable, uint64_t& end) {
  uint64_t at = alignUp(end, variable.alignment);
  end = at + variable.bytes;
  return at;
}

template <class Visit>
void visitSymbols(const Operand& operand, Visit visit) {
  if (!operand.symbol.empty()) visit(operand.symbol);
  for (const Operand& element : operand.elements) visitSymbols(element, visit);
}

bool isDynamic(const Variable& variable) {
  return variable.space == Space::Shared && variable.bytes == 0;
}

void requireRoom(const Function& function, uint32_t line, const char* what, uint64_t bytes,
                 uint64_t most) {
  if (bytes <= most) return;
  refuse(line, "`" + function.name + "` takes " + std::to_string(bytes) + " bytes of " +
                            what + ", the most is " + std::to_string(most));
}

}  // namespace

int reservedShared(const std::string& special) {
  static const std::string kPrefix = "%reserved_smem_offset_";
  if (special.rfind(kPrefix, 0) != 0) return -1;
  std::string which = special.substr(kPrefix.size());
  return which == "end" || which == "cap" ? kReservedBytes : which == "1" ? kReservedForGroups : 0;
}

Symbols::Symbols(const ptx::Module& module, const AddressOf& addressOf) : addressOf_(addressOf) {
  for (const Variable& variable : module.variables) {
    variables_.emplace(variable.name, &variable);
    if (isDynamic(variable)) {
      dynamicAlignment_ = std::max(dynamicAlignment_, variable.alignment);
    }
  }
  for (const Function& function : module.functions) {
    if (!function.isDefined) continue;
    indices_.emplace(function.name, static_cast<uint32_t>(functions_.size()));
    functions_.push_back(&function);
  }
  for (const auto& [name, target] : module.aliases) {
    auto found = indices_.find(target);
    if (found != indices_.end()) indices_.emplace(name, found->second);
  }
  for (const Function& function : module.functions) {
    if (usesOf(function).reservedShared) commonBytes_ = kReservedBytes;
  }
  for (const Function& function : module.functions) {
    if (function.isEntry || !function.isDefined) continue;
    Uses uses = usesOf(function);
    functionsUseDynamic_ |= uses.dynamicShared;
    for (const Variable* variable : uses.shared) shareCommon(*variable);
    for (const Variable& variable : function.variables) {
      if (variable.space == Space::Shared && !isDynamic(variable)) shareCommon(variable);
    }
  }
}

void Symbols::shareCommon(const Variable& variable) {
  if (!common_.count(&variable)) common_.emplace(&variable, append(variable, commonBytes_));
}

Symbols::Uses Symbols::usesOf(const Function& function) const {
  Uses uses;
  std::set<const Variable*> seen;
  for (const Variable& variable : function.variables) {
    if (variable.space == Space::Shared) uses.dynamicShared |= isDynamic(variable);
  }
  for (const ptx::Register& reg : function.registers) {
    uses.reservedShared |= reg.special && reservedShared(reg.name) >= 0;
  }
  for (const ptx::Instruction& instruction : function.code) {
    uses.calls |= instruction.opcode == "call";
    for (const Operand& operand : instruction.operands) {
      visitSymbols(operand, [&](const std::string& name) {
        auto found = variables_.find(name);
        if (found == variables_.end() || found->second->space != Space::Shared) return;
        if (isDynamic(*found->second)) {
          uses.dynamicShared = true;
        } else if (seen.insert(found->second).second) {
          uses.shared.push_back(found->second);
        }
      });
    }
  }
  return uses;
}

void Symbols::enter(const Function& function, FunctionCode& code) {
  places_.clear();
  code.name = function.name;
  code.isEntry = function.isEntry;
  uint64_t localBytes = 0, paramBytes = 0;
  if (function.isEntry) {
    placeParams(function.params, Space::Param, paramBytes, code.params);
  } else {
    placeParams(function.params, Space::Local, localBytes, code.params);
    placeParams(function.results, Space::Local, localBytes, code.results);
  }
  for (const Variable& variable : function.variables) {
    if (variable.space == Space::Shared) continue;
    uint64_t at = append(variable, localBytes);
    requireRoom(function, variable.line, "local memory", localBytes, kMostLocalBytes);
    places_.insert_or_assign(variable.name,
                             Place{Space::Local, Constant::Kind::Local, at, variable.bytes});
  }
  requireRoom(function, function.line, "parameters", paramBytes, kMostParamBytes);
  requireRoom(function, function.line, "local memory", localBytes, kMostLocalBytes);
  code.paramBytes = static_cast<uint32_t>(paramBytes);
  code.localBytes = static_cast<uint32_t>(alignUp(localBytes, 16));
  enterShared(function, code);
}

void Symbols::enterShared(const Function& function, FunctionCode& code) {
  Uses uses = usesOf(function);
  code.usesDynamicShared = uses.dynamicShared || (uses.calls && functionsUseDynamic_);
  bool touchesCommon = uses.calls || uses.reservedShared || !function.isEntry;
  for (const Variable* variable : uses.shared) touchesCommon |= common_.count(variable) > 0;
  uint64_t end = touchesCommon ? commonBytes_ : 0;
  auto place = [&](const Variable& variable) {
    auto common = common_.find(&variable);
    uint64_t at = common != common_.end() ? common->second : append(variable, end);
    requireRoom(function, variable.line, "shared memory", end, kMostSharedBytes);
    places_.insert_or_assign(variable.name,
                             Place{Space::Shared, Constant::Kind::Value, at, variable.bytes});
  };
  for (const Variable* variable : uses.shared) place(*variable);
  uint32_t alignment = dynamicAlignment_;
  for (const Variable& variable : function.variables) {
    if (variable.space != Space::Shared) continue;
    if (isDynamic(variable)) {
      alignment = std::max(alignment, variable.alignment);
      places_.insert_or_assign(variable.name,
                               Place{Space::Shared, Constant::Kind::DynamicShared, 0, 0});
    } else {
      place(variable);
    }
  }
  if (code.usesDynamicShared) end = alignUp(end, alignment);
  requireRoom(function, function.line, "shared memory", end, kMostSharedBytes);
  code.sharedBytes = static_cast<uint32_t>(end);
}

void Symbols::placeParams(const std::vector<Variable>& params, Space space, uint64_t& end,
                          std::vector<ParamLayout>& layouts) {
  bool entry = space == Space::Param;
  for (const Variable& param : params) {
    uint64_t at = append(param, end);
    end = std::min(end, kMostLocalBytes + 1);
    layouts.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(param.bytes)});
    places_.insert_or_assign(
        param.name, Place{space, entry ? Constant::Kind::Value : Constant::Kind::Local, at,
                          param.bytes});
  }
}

bool Symbols::find(const std::string& name, Place& place) const {
  auto inside = places_.find(name);
  if (inside != places_.end()) {
    place = inside->second;
    return true;
  }
  auto variable = variables_.find(name);
  if (variable != variables_.end()) {
    Space space = variable->second->space;
    if (isDynamic(*variable->second)) {
      place = {space, Constant::Kind::DynamicShared, 0, 0};
      return true;
    }
    if (space != Space::Global && space != Space::Const) return false;
    place = {space, Constant::Kind::Value, addressOf_(*variable->second),
             variable->second->bytes};
    return place.value != 0;
  }
  int index = functionIndex(name);
  if (index < 0) return false;
  place = {Space::Generic, Constant::Kind::Value, functionAddress(index), 0};
  return true;
}

int Symbols::functionIndex(const std::string& name) const {
  auto found = indices_.find(name);
  return found == indices_.end() ? -1 : static_cast<int>(found->second);
}

}  // namespace sgpu
