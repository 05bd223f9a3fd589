#include "entry.h"

#include <memory>
#include <string>

#include "context.h"
#include "sticky.h"

namespace sgpu {
namespace {

std::atomic<bool> initialised{false};

struct Records {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<CallRecord>> byName;
};

Records& records() {
  static Records& all = *new Records;
  return all;
}

}  // namespace

bool isInitialised() { return initialised.load(std::memory_order_acquire); }
void setInitialised(bool value) { initialised.store(value, std::memory_order_release); }

CallRecord& CallRecord::named(const char* function) {
  Records& all = records();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<CallRecord>& record = all.byName[function];
  if (!record) record = std::make_unique<CallRecord>();
  return *record;
}

uint64_t CallRecord::callsOfAll() {
  Records& all = records();
  std::lock_guard lock(all.mutex);
  uint64_t sum = 0;
  for (const auto& [name, record] : all.byName) sum += record->calls;
  return sum;
}

void CallRecord::resetAll() {
  Records& all = records();
  std::lock_guard lock(all.mutex);
  for (const auto& [name, record] : all.byName) {
    std::lock_guard recordLock(record->mutex);
    record->calls = 0;
    record->failures.clear();
    record->armed = false;
  }
}

int Entry::refusal() {
  const uint64_t call = count();
  if (!isInitialised()) return CUDA_ERROR_NOT_INITIALIZED;
  if (const int code = stickyCode()) return code;
  return injected(call);
}

int Entry::injected(uint64_t call) {
  if (!record_.armed.load(std::memory_order_acquire)) return 0;
  std::lock_guard lock(record_.mutex);
  auto found = record_.failures.find(call);
  if (found == record_.failures.end()) return 0;
  const int code = found->second;
  record_.failures.erase(found);
  record_.armed = !record_.failures.empty();
  if (isSticky(code)) stick(code, "a failure that was asked for");
  return code;
}

Context& Entry::current() { return *currentContext(); }

}  // namespace sgpu
