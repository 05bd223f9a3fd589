/// Wakes whoever waits for work to get on: one condition for the whole process, since few ever wait,
/// and most of what is done nobody waits for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sgpu {

class Progress {
 public:
  /// Something that a condition may be waiting for has changed.
  void notify() {
    // Of this and the addition in `wait` one comes second: either this sees the waiter, or the waiter
    // sees everything that was done before this.
    if (waiters_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

  /// @param condition Reads atomics only
  template <class Condition>
  void wait(Condition condition) {
    if (condition()) return;
    std::unique_lock lock(mutex_);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    changed_.wait(lock, condition);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// @returns Whether the condition came true before the time.
  template <class Condition>
  bool waitUntil(std::chrono::steady_clock::time_point time, Condition condition) {
    std::unique_lock lock(mutex_);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    const bool came = changed_.wait_until(lock, time, condition);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return came;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> waiters_{0};
};

inline Progress& progress() {
  static Progress& all = *new Progress;
  return all;
}

}  // namespace sgpu
