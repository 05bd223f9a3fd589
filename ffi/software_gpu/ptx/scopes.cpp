#include "scopes.h"

#include "special.h"

namespace sgpu::ptx {

namespace {

/// No identifier holds this character, so a renamed name collides with none.
constexpr char kRenamed = '@';

}  // namespace

void Scopes::open() {
  Scope scope;
  scope.code = function_.code.size();
  scope.serial = serials_++;
  scopes_.push_back(std::move(scope));
}

void Scopes::close() {
  Scope closed = std::move(scopes_.back());
  scopes_.pop_back();
  if (scopes_.empty()) return;
  if (!closed.labels.empty()) {
    auto rename = [&](std::string& name) {
      auto label = closed.labels.find(name);
      if (label != closed.labels.end()) name = label->second;
    };
    for (size_t i = closed.code; i < function_.code.size(); i++) {
      for (Operand& operand : function_.code[i].operands) {
        if (operand.kind == Operand::Kind::Symbol) rename(operand.symbol);
      }
    }
    for (const std::string& list : closed.targetLists) {
      for (std::string& name : function_.targets[list]) rename(name);
    }
  }
  std::vector<std::string>& lists = scopes_.back().targetLists;
  lists.insert(lists.end(), closed.targetLists.begin(), closed.targetLists.end());
}

std::string Scopes::finalName(std::string_view name) const {
  std::string final(name);
  if (scopes_.size() > 1) final += kRenamed + std::to_string(scopes_.back().serial);
  return final;
}

int Scopes::addRegister(Scope& scope, const std::string& name, Type type, bool special) {
  std::string final = name;
  if (!special && scope.serial > 0) final += kRenamed + std::to_string(scope.serial);
  int index = static_cast<int>(function_.registers.size());
  function_.registers.push_back({final, type, special});
  scope.registers.emplace(name, index);
  return index;
}

bool Scopes::declareRegister(std::string_view name, Type type) {
  std::string key(name);
  if (scopes_.back().registers.count(key)) return false;
  addRegister(scopes_.back(), key, type, false);
  return true;
}

bool Scopes::declareRegisters(std::string_view prefix, uint32_t count, Type type) {
  return scopes_.back().ranges.emplace(std::string(prefix), Range{count, type}).second;
}

bool Scopes::declareVariable(Variable variable) {
  std::string final = finalName(variable.name);
  if (!scopes_.back().variables.emplace(variable.name, final).second) return false;
  variable.name = std::move(final);
  function_.variables.push_back(std::move(variable));
  return true;
}

std::string Scopes::declareLabel(std::string_view name) {
  std::string final = finalName(name);
  return scopes_.back().labels.emplace(std::string(name), final).second ? final : std::string();
}

void Scopes::addTargets(const std::string& label, std::vector<std::string> names) {
  function_.targets.emplace(label, std::move(names));
  scopes_.back().targetLists.push_back(label);
}

int Scopes::findRegister(std::string_view name) {
  std::string key(name);
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
  size_t length = name.size() - digits;
  bool numbered = length > 0 && length < 10 && (length == 1 || name[digits] != '0');
  std::string prefix = numbered ? key.substr(0, digits) : std::string();
  uint64_t number = numbered ? std::stoull(key.substr(digits)) : 0;
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    auto found = scope.registers.find(key);
    if (found != scope.registers.end()) return found->second;
    if (!numbered) continue;
    auto range = scope.ranges.find(prefix);
    if (range != scope.ranges.end() && number < range->second.count) {
      return addRegister(scope, key, range->second.type, false);
    }
  }
  Type special = specialType(name);
  return special == Type::None ? -1 : addRegister(scopes_.front(), key, special, true);
}

std::string Scopes::resolve(std::string_view name) const {
  std::string key(name);
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto found = scopes_[i].variables.find(key);
    if (found != scopes_[i].variables.end()) return found->second;
  }
  return key;
}

}  // namespace sgpu::ptx
