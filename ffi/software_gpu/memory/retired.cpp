#include "retired.h"

#include <sys/mman.h>

#include <cstdlib>

namespace sgpu {

Retired& retired() {
  static Retired& all = *new Retired;
  return all;
}

uint64_t Retired::enter() {
  std::lock_guard lock(mutex_);
  running_.insert(running_.end(), ++tickets_);
  return tickets_;
}

void Retired::leave(uint64_t ticket) {
  std::lock_guard lock(mutex_);
  running_.erase(ticket);
  releaseOld();
}

void Retired::retire(void* memory, size_t mapped) {
  std::lock_guard lock(mutex_);
  items_.push_back({memory, mapped, tickets_});
  releaseOld();
}

void Retired::releaseOld() {
  while (!items_.empty() && (running_.empty() || *running_.begin() > items_.front().tickets)) {
    const Item& item = items_.front();
    if (item.mapped) {
      munmap(item.memory, item.mapped);
    } else {
      std::free(item.memory);
    }
    items_.pop_front();
  }
}

}  // namespace sgpu
