/// Streams: one first-in-first-out queue and one thread each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "context.h"

namespace sgpu {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

class Stream;
class Capture;

/// One thing that a stream does, or a node of a graph. Immutable, so that a graph may run it often.
class Operation {
 public:
  virtual ~Operation() = default;
  /// On the stream's thread, in its turn.
  /// @throws Fault
  virtual void execute(Stream& stream) const = 0;
  /// What it is called as a node.
  virtual CUgraphNodeType type() const = 0;
};

/// When the device's clock passed a mark; 0 before.
struct Stamp {
  std::atomic<uint64_t> nanos{0};
};

/// A place in a stream's queue: everything up to it has been done, or not yet.
struct Place {
  std::shared_ptr<const Stream> stream;
  uint64_t ticket = 0;
  std::shared_ptr<const Stamp> inside;  ///< of a mark within a graph's run, which has one ticket

  bool isDone() const;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::shared_ptr<Context> context, unsigned flags, int priority, bool isDefault);

  uint64_t handle = 0;
  const std::shared_ptr<Context> context;
  const unsigned flags;
  const int priority;

  /// Puts an operation behind all others, and where the default stream's rules ask for it, behind
  /// what other streams have to do.
  /// @param after What else has to be done before
  /// @throws Failure 400 when the stream was destroyed
  Place enqueue(std::shared_ptr<const Operation> operation, std::vector<Place> after = {});
  Place last() const;
  bool isIdle() const;
  /// Waits for everything that was enqueued so far, or a fault.
  void synchronize() const;
  /// No more is accepted; the thread ends when everything is done.
  void close();

  /// Where the device's clock stands for this stream: ahead of the real one while a kernel of known
  /// cost is being pretended.
  uint64_t clock = 0;
  /// How many kernels have run here in adversarial mode.
  uint64_t kernels = 0;

  /// The capture that this stream takes part in; for capture.cpp.
  std::shared_ptr<Capture> capture;
  /// Whether there is one, for a first look without a lock.
  std::atomic<bool> isCapturing{false};

 private:
  friend struct Place;
  struct Entry {
    std::shared_ptr<const Operation> operation;
    std::vector<Place> after;
  };
  /// Starts the thread with the first operation. Under the mutex.
  void start();
  void serve();
  std::vector<Place> placesOfDefaultRules() const;

  const bool isDefault_;
  std::atomic<uint64_t> submitted_{0}, completed_{0};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Entry> queue_;
  bool sleeps_ = false;
  bool started_ = false;
  bool closed_ = false;
};

Handles<Stream>& streams();
/// A stream as an API function names it: 0 and 1 are the default one, 2 is the thread's own.
/// @throws Failure 400 for one that is not there, or of another context
std::shared_ptr<Stream> streamOf(CUstream handle, Context& context);
/// What a call that has waited returns: the fault that came meanwhile, if any.
CUresult afterWaiting();
/// Threads of streams that have not ended; `softwareGpuReset` waits for them.
uint64_t liveStreamThreads();
/// Ends all waiting and running: what is enqueued is dropped.
void cancelAll(bool cancel);
bool isCancelled();
/// An operation is pointless now: the device has faulted, or the process starts anew.
bool isPointless();

}  // namespace sgpu
