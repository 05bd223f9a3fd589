/// One launch of a kernel, and the blocks it consists of.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../compile/program.h"
#include "fault.h"

namespace sgpu {

/// How kernels run; set from outside, copied into each launch.
struct ExecutionOptions {
  /// Warp instructions of one launch; 0: no bound. Beyond it: 702.
  uint64_t instructionBudget = 0;
  /// 0: functional. Else random order of warps and blocks, poisoned shared memory and registers,
  /// late asynchronous copies.
  uint64_t adversarialSeed = 0;
  /// Reads of memory that nobody wrote are faults.
  bool checkUninitialised = false;
  /// Shared memory touched on both sides of a missing barrier is a fault.
  bool checkRaces = false;
  /// Local memory of one thread.
  uint32_t stackBytes = 16384;
};

struct Launch {
  std::shared_ptr<const Program> program;
  uint32_t function = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;
  bool cooperative = false;        ///< all blocks are resident at once
  uint64_t workspace = 0;          ///< of a cooperative launch while it runs: see grid.cpp
  std::vector<uint8_t> params;     ///< laid out as `FunctionCode::params` say
  uint64_t serial = 0;
  ExecutionOptions options;

  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
  uint32_t threads() const { return block[0] * block[1] * block[2]; }
};

/// What kernels have done; summed over launches.
struct ExecutionCounters {
  uint64_t instructions = 0;   ///< of warps
  uint64_t bytesRead = 0;      ///< of global memory, by kernels
  uint64_t bytesWritten = 0;
};

/// One block in progress. Reused for further blocks of the same launch, since making the frames of
/// its warps is what costs.
class BlockRun {
 public:
  explicit BlockRun(const Launch& launch);
  ~BlockRun();
  /// Begins a block: its index in the grid, x fastest.
  void start(uint64_t index);
  /// Runs about so many warp instructions.
  /// @returns Whether the block has ended.
  /// @throws Fault
  bool advance(uint64_t instructions);
  /// Says in a fault that nobody in particular made where the block is now.
  void locate(Fault& fault) const;
  /// What was done since the last call.
  ExecutionCounters takeCounters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What threads share that run one grid together.
struct GridProgress {
  std::atomic<uint64_t> started{0};  ///< blocks
  std::atomic<uint64_t> spent{0};    ///< instructions
};

/// Runs blocks that no thread has started yet until there are none, on the calling thread, in order
/// (adversarial: a few at a time, interleaved). `cooperative` launches keep every block resident, and
/// so have one thread.
/// @param goesOn Asked between blocks, and in long ones now and then; false ends it
/// @throws Fault with kernel, block, thread and line filled in.
void runGrid(const Launch& launch, GridProgress& progress, ExecutionCounters& counters,
             const std::function<bool()>& goesOn);

}  // namespace sgpu
