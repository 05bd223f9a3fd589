/// The threads that run blocks: as many at once as option `threads` says, so that kernels do not
/// starve the rest of the process, whatever the number of streams.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "../execute/launch.h"

namespace sgpu {

class Processors {
 public:
  /// Runs a grid on the calling thread, with the help of processors that are idle.
  /// @param priority The lower, the earlier it gets a processor
  /// @throws Fault
  void run(const Launch& launch, int priority);

 private:
  struct Job;
  /// Waits for a processor that nobody with an earlier claim wants.
  void acquire(std::unique_lock<std::mutex>& lock, int priority);
  void release();
  /// Between two blocks: lets those go first who wait, then goes on.
  void yield(int priority);
  void work(Job& job, const Launch& launch);
  void startAssistants(std::unique_lock<std::mutex>& lock);
  void assist();

  struct Claim {
    int priority;
    uint64_t order;
  };
  bool isFirst(const Claim& claim) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t busy_ = 0;            ///< processors
  uint64_t assistants_ = 0;      ///< threads that help
  std::vector<Claim> claims_;    ///< of those who wait
  std::atomic<size_t> waiting_{0};
  uint64_t orders_ = 0;
  std::vector<Job*> jobs_;       ///< that may want help
};

Processors& processors();

}  // namespace sgpu
