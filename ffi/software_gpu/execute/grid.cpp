#include <algorithm>
#include <string>

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

/// Resident blocks of one launch, and what they may still spend.
class Residents {
 public:
  Residents(const Launch& launch, ExecutionCounters& counters)
      : launch_(launch), counters_(counters), random_(launch.options.adversarialSeed) {
    const uint64_t resident = launch.cooperative ? launch.blocks() : random_ ? kWindow : 1;
    const uint64_t count = std::min(resident, launch.blocks());
    for (uint64_t i = 0; i < count; i++) {
      runs_.push_back(std::make_unique<BlockRun>(launch));
      runs_.back()->start(started_++);
    }
  }

  void run() {
    for (size_t turn = 0; !runs_.empty(); turn++) {
      const size_t index = (random_ ? random() : turn) % runs_.size();
      BlockRun& block = *runs_[index];
      const bool ended = advance(block);
      if (!ended) continue;
      if (started_ < launch_.blocks()) {
        block.start(started_++);
      } else {
        runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(index));
      }
    }
  }

 private:
  bool advance(BlockRun& block) {
    const uint64_t budget = launch_.options.instructionBudget;
    uint64_t stretch = random_ ? 1 + random() % kAdversarialTurn
                       : runs_.size() > 1 ? kTurn : kStretch;
    if (budget) stretch = std::min(stretch, budget - spent_);
    bool ended = false;
    try {
      ended = block.advance(stretch);
    } catch (...) {
      take(block);
      throw;
    }
    take(block);
    if (budget && spent_ >= budget && !ended) {
      Fault fault{kLaunchTimeout,
                  "the launch has run its budget of " + std::to_string(budget) + " instructions"};
      block.locate(fault);
      throw fault;
    }
    return ended;
  }

  void take(BlockRun& block) {
    const ExecutionCounters done = block.takeCounters();
    spent_ += done.instructions;
    counters_.instructions += done.instructions;
    counters_.bytesRead += done.bytesRead;
    counters_.bytesWritten += done.bytesWritten;
  }

  uint64_t random() {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return random_ >> 33;
  }

  const Launch& launch_;
  ExecutionCounters& counters_;
  std::vector<std::unique_ptr<BlockRun>> runs_;
  uint64_t started_ = 0;
  uint64_t spent_ = 0;
  uint64_t random_;
};

}  // namespace

void runGrid(const Launch& launch, ExecutionCounters& counters) {
  Residents(launch, counters).run();
}

}  // namespace sgpu
