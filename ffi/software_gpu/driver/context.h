/// Contexts, and which of them is current in a thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device.h"
#include "handles.h"

namespace sgpu {

class Stream;

struct Context : std::enable_shared_from_this<Context> {
  Context(Device& device, unsigned flags, bool primary)
      : device(device), primary(primary), flags(flags) {}

  uint64_t handle = 0;
  Device& device;
  const bool primary;
  std::atomic<unsigned> flags;
  std::atomic<bool> alive{true};
  std::atomic<uint64_t> stackBytes{16384};
  std::atomic<uint64_t> printfBytes{1 << 20};
  std::atomic<uint64_t> heapBytes{8 << 20};

  /// The legacy default stream.
  std::shared_ptr<Stream> defaultStream();
  /// The same, or null while nothing has used it.
  std::shared_ptr<Stream> startedDefaultStream();
  /// What `CU_STREAM_PER_THREAD` means in the calling thread.
  std::shared_ptr<Stream> threadStream();
  /// All that exist now.
  std::vector<std::shared_ptr<Stream>> streams();
  /// Registers a stream that was made for this context.
  void adopt(const std::shared_ptr<Stream>& stream);
  /// Waits for everything that was enqueued so far.
  void synchronize();
  /// Everything in it goes: streams, events, modules, graphs, memory.
  void destroy();

 private:
  std::mutex mutex_;
  std::shared_ptr<Stream> default_;
  std::vector<std::pair<uint64_t, std::shared_ptr<Stream>>> perThread_;
  std::vector<std::weak_ptr<Stream>> streams_;
};

Handles<Context>& contexts();
/// @throws Failure 201 for what never was one, 709 for one that was destroyed
std::shared_ptr<Context> contextOf(CUcontext handle);

/// The calling thread's contexts, the current one last. Entries may be null or destroyed.
std::vector<std::shared_ptr<Context>>& contextStack();
/// @throws Failure 201 when none is current, 709 when the current one was destroyed
const std::shared_ptr<Context>& currentContext();
/// All threads' stacks are void: `softwareGpuReset`.
void forgetContextStacks();

}  // namespace sgpu
