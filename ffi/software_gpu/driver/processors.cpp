#include "processors.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "counters.h"
#include "options.h"
#include "stream.h"

namespace sgpu {

struct Processors::Job {
  const Launch& launch;
  const int priority;
  GridProgress progress;
  uint64_t assistants = 0;
  std::atomic<bool> failed{false};
  std::optional<Fault> fault;

  bool hasMore() const {
    return !failed && progress.started.load(std::memory_order_relaxed) < launch.blocks();
  }
};

Processors& processors() {
  static Processors& all = *new Processors;
  return all;
}

bool Processors::isFirst(const Claim& claim) const {
  return std::none_of(claims_.begin(), claims_.end(), [&](const Claim& other) {
    return other.priority < claim.priority ||
           (other.priority == claim.priority && other.order < claim.order);
  });
}

void Processors::acquire(std::unique_lock<std::mutex>& lock, int priority) {
  const Claim claim{priority, ++orders_};
  claims_.push_back(claim);
  waiting_ = claims_.size();
  changed_.wait(lock, [&] { return busy_ < options().threads && isFirst(claim); });
  claims_.erase(std::find_if(claims_.begin(), claims_.end(),
                             [&](const Claim& other) { return other.order == claim.order; }));
  waiting_ = claims_.size();
  busy_++;
  if (!claims_.empty()) changed_.notify_all();
}

void Processors::release() {
  busy_--;
  changed_.notify_all();
}

void Processors::yield(int priority) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  std::unique_lock lock(mutex_);
  const bool wanted = std::any_of(claims_.begin(), claims_.end(), [&](const Claim& claim) {
    return claim.priority <= priority;
  });
  if (!wanted) return;
  release();
  acquire(lock, priority);
}

void Processors::work(Job& job, const Launch& launch) {
  ExecutionCounters done;
  try {
    runGrid(launch, job.progress, done, [&] {
      yield(job.priority);
      return !job.failed.load(std::memory_order_relaxed) && !isPointless();
    });
  } catch (const Fault& fault) {
    std::lock_guard lock(mutex_);
    if (!job.fault) job.fault = fault;
    job.failed = true;
  } catch (const std::bad_alloc&) {
    std::lock_guard lock(mutex_);
    if (!job.fault) job.fault = Fault{kLaunchFailed, "the host has no memory for a block"};
    job.failed = true;
  }
  Counters& all = counters();
  all.instructions.fetch_add(done.instructions, std::memory_order_relaxed);
  all.bytesRead.fetch_add(done.bytesRead, std::memory_order_relaxed);
  all.bytesWritten.fetch_add(done.bytesWritten, std::memory_order_relaxed);
}

void Processors::startAssistants(std::unique_lock<std::mutex>&) {
  for (; assistants_ + 1 < options().threads; assistants_++) {
    std::thread([this] { assist(); }).detach();
  }
}

void Processors::assist() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Job* job = nullptr;
    changed_.wait(lock, [&] {
      if (busy_ >= options().threads || !claims_.empty()) return false;
      auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                [](const Job* one) { return one->hasMore(); });
      if (found != jobs_.end()) job = *found;
      return job != nullptr;
    });
    busy_++;
    job->assistants++;
    lock.unlock();
    work(*job, job->launch);
    lock.lock();
    job->assistants--;
    release();
  }
}

void Processors::run(const Launch& launch, int priority) {
  Job job{launch, priority, {}, 0, {false}, {}};
  const bool shared = launch.blocks() > 1 && !launch.cooperative && options().threads > 1;
  std::unique_lock lock(mutex_);
  acquire(lock, priority);
  if (shared) {
    startAssistants(lock);
    jobs_.push_back(&job);
    changed_.notify_all();
  }
  lock.unlock();
  work(job, launch);
  lock.lock();
  release();
  if (shared) {
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    changed_.wait(lock, [&] { return job.assistants == 0; });
  }
  if (job.fault) throw *job.fault;
}

}  // namespace sgpu
