#include "kernel_table.h"

namespace sgpu {

KernelTable& kernelTable() {
  static KernelTable& table = *new KernelTable;
  return table;
}

void KernelTable::setCost(const std::string& kernel, uint64_t nanos) {
  std::lock_guard lock(mutex_);
  costs_[kernel] = nanos;
}

void KernelTable::delay(const std::string& kernel, uint64_t nth, uint64_t nanos) {
  std::lock_guard lock(mutex_);
  delays_[kernel][nth] = nanos;
}

uint64_t KernelTable::cost(const std::string& kernel, uint64_t otherwise) const {
  std::lock_guard lock(mutex_);
  auto found = costs_.find(kernel);
  return found == costs_.end() ? otherwise : found->second;
}

uint64_t KernelTable::takeDelay(const std::string& kernel) {
  std::lock_guard lock(mutex_);
  auto found = delays_.find(kernel);
  if (found == delays_.end()) return 0;
  std::map<uint64_t, uint64_t> later;
  uint64_t nanos = 0;
  for (const auto& [nth, late] : found->second) {
    if (nth == 1) {
      nanos = late;
    } else {
      later[nth - 1] = late;
    }
  }
  found->second = std::move(later);
  if (found->second.empty()) delays_.erase(found);
  return nanos;
}

void KernelTable::clear() {
  std::lock_guard lock(mutex_);
  costs_.clear();
  delays_.clear();
}

}  // namespace sgpu
