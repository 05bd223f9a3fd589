#include <algorithm>
#include <string>

#include "../memory/address_space.h"
#include "launch.h"

namespace sgpu {
namespace {

/// Between two looks at the budget.
constexpr uint64_t kStretch = 1 << 20;
/// A resident block's turn while others wait for it.
constexpr uint64_t kTurn = 32768;
/// Blocks that adversarial mode interleaves, and at most how long one of them runs at a stretch.
constexpr uint64_t kWindow = 4;
constexpr uint64_t kAdversarialTurn = 2048;

/// Resident blocks of one launch in one thread.
class Residents {
 public:
  Residents(const Launch& launch, GridProgress& progress, ExecutionCounters& counters)
      : launch_(launch), progress_(progress), counters_(counters),
        random_(launch.options.adversarialSeed) {
    const uint64_t resident = launch.cooperative ? launch.blocks() : random_ ? kWindow : 1;
    uint64_t index;
    while (runs_.size() < resident && nextBlock(index)) {
      runs_.push_back(std::make_unique<BlockRun>(launch));
      runs_.back()->start(index);
    }
  }

  void run(const std::function<bool()>& goesOn) {
    for (size_t turn = 0; !runs_.empty() && goesOn(); turn++) {
      const size_t index = (random_ ? random() : turn) % runs_.size();
      BlockRun& block = *runs_[index];
      if (!advance(block)) continue;
      uint64_t next;
      if (nextBlock(next)) {
        block.start(next);
      } else {
        runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(index));
      }
    }
  }

 private:
  bool nextBlock(uint64_t& index) {
    index = progress_.started.fetch_add(1, std::memory_order_relaxed);
    return index < launch_.blocks();
  }

  bool advance(BlockRun& block) {
    const uint64_t budget = launch_.options.instructionBudget;
    uint64_t stretch = random_ ? 1 + random() % kAdversarialTurn
                       : runs_.size() > 1 ? kTurn : kStretch;
    if (budget) {
      const uint64_t spent = progress_.spent.load(std::memory_order_relaxed);
      stretch = std::clamp<uint64_t>(budget - std::min(spent, budget), 1, stretch);
    }
    bool ended = false;
    try {
      ended = block.advance(stretch);
    } catch (...) {
      take(block);
      throw;
    }
    take(block);
    if (budget && progress_.spent.load(std::memory_order_relaxed) >= budget && !ended) {
      Fault fault{kLaunchTimeout,
                  "the launch has run its budget of " + std::to_string(budget) + " instructions"};
      block.locate(fault);
      throw fault;
    }
    return ended;
  }

  void take(BlockRun& block) {
    const ExecutionCounters done = block.takeCounters();
    progress_.spent.fetch_add(done.instructions, std::memory_order_relaxed);
    counters_.instructions += done.instructions;
    counters_.bytesRead += done.bytesRead;
    counters_.bytesWritten += done.bytesWritten;
  }

  uint64_t random() {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return random_ >> 33;
  }

  const Launch& launch_;
  GridProgress& progress_;
  ExecutionCounters& counters_;
  std::vector<std::unique_ptr<BlockRun>> runs_;
  uint64_t random_;
};

/// Global memory of a cooperative launch: its size, and the word by which its blocks wait for each
/// other.
class Workspace {
 public:
  Workspace() { addressSpace().add({address(), address() + sizeof words_}); }
  ~Workspace() { addressSpace().remove(address(), address() + sizeof words_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(words_); }

 private:
  alignas(16) uint32_t words_[4] = {sizeof words_, 0, 0, 0};
};

}  // namespace

void runGrid(const Launch& launch, GridProgress& progress, ExecutionCounters& counters,
             const std::function<bool()>& goesOn) {
  if (!launch.cooperative) return Residents(launch, progress, counters).run(goesOn);
  const Workspace workspace;
  Launch cooperative = launch;
  cooperative.workspace = workspace.address();
  Residents(cooperative, progress, counters).run(goesOn);
}

}  // namespace sgpu
