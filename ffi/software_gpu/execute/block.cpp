#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "interpreter.h"
#include "launch.h"
#include "warp.h"

namespace sgpu {
namespace {

/// Instructions that a warp runs before the next has its turn: long, so that what it touches stays
/// in the caches, since warps that wait for each other by spinning are rare.
constexpr uint64_t kSlice = 8192;
/// In adversarial mode at most so many, so that nearly any order can happen.
constexpr uint64_t kAdversarialSlice = 64;

constexpr size_t kAlignment = 1024;  // of shared memory, as the strictest instructions ask for it

struct Free {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};

uint32_t roundUp(uint32_t value, uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Nobody needs a stack where nothing is called and nothing is local.
bool needsLocal(const Program& program, const FunctionCode& kernel) {
  return kernel.localBytes > 0 ||
         std::any_of(program.functions.begin(), program.functions.end(),
                     [](const FunctionCode& function) { return !function.isEntry; });
}

[[noreturn]] void faultDeadlock(Block& block) {
  const std::vector<Op>& ops = block.launch->program->ops;
  std::string what;
  Warp* first = nullptr;
  const Op* at = nullptr;
  int lane = -1;
  for (Warp& warp : block.warps) {
    for (const Path& path : warp.waiting) {
      const bool meeting = path.barrier == kMeeting;
      const Op& op = ops[meeting ? path.pc : path.pc - 1];
      if (!first) {
        first = &warp;
        at = &op;
        lane = __builtin_ctz(path.mask);
      }
      char mask[16];
      std::snprintf(mask, sizeof mask, "0x%08x", path.mask);
      what += std::string(what.empty() ? "" : "; ") + "lanes " + mask + " of warp " +
              std::to_string(warp.index) + " wait in line " + std::to_string(op.line) + " " +
              (meeting ? "for other lanes of their warp"
                       : "at " + describeBarrier(block, path.barrier));
    }
  }
  fault(*at, *first, kLaunchFailed, "deadlock: " + what, 0, lane);
}

}  // namespace

uint8_t* Warp::local(unsigned lane) const {
  return block->local + size_t(index * kWarpLanes + lane) * block->stackBytes;
}

uint32_t Warp::localBytes() const { return block->stackBytes; }

struct BlockRun::State {
  Block block;
  std::unique_ptr<uint8_t[], Free> shared, local;
  std::vector<uint32_t> order;    ///< of warps within a round
  size_t next = 0;                ///< in `order`
  bool moved = true;              ///< some warp ran since the round began
  ExecutionCounters taken;        ///< what `takeCounters` has given out

  explicit State(const Launch& launch);
  void beginRound();
  uint64_t slice();
};

BlockRun::State::State(const Launch& launch) {
  const FunctionCode& kernel = launch.program->functions[launch.function];
  block.launch = &launch;
  block.threads = launch.threads();
  const uint32_t warps = (block.threads + kWarpLanes - 1) / kWarpLanes;
  block.dynamicSharedOffset = roundUp(kernel.sharedBytes, 16);
  block.sharedBytes = launch.dynamicShared ? block.dynamicSharedOffset + launch.dynamicShared
                                           : kernel.sharedBytes;
  shared.reset(static_cast<uint8_t*>(
      std::aligned_alloc(kAlignment, roundUp(block.sharedBytes + 1, kAlignment))));
  if (!shared) throw std::bad_alloc();
  block.shared = shared.get();
  if (needsLocal(*launch.program, kernel)) {
    block.stackBytes = roundUp(kernel.localBytes, 16) + launch.options.stackBytes;
    // Zeroed by the system as it is touched, which most of it never is.
    local.reset(static_cast<uint8_t*>(std::calloc(size_t(warps) * kWarpLanes, block.stackBytes)));
    if (!local) throw std::bad_alloc();
    block.local = local.get();
  }
  block.warps.resize(warps);
  order.resize(warps);
  std::iota(order.begin(), order.end(), 0u);
  for (Warp& warp : block.warps) {
    warp.index = static_cast<uint32_t>(&warp - block.warps.data());
    warp.block = &block;
    warp.shared = block.shared;
    warp.sharedBytes = block.sharedBytes;
    warp.params = launch.params.data();
    warp.paramBytes = static_cast<uint32_t>(launch.params.size());
  }
}

void BlockRun::State::beginRound() {
  next = 0;
  moved = false;
  if (!block.random) return;
  for (size_t i = order.size(); i > 1; i--) {
    std::swap(order[i - 1], order[nextRandom(block.random) % i]);
  }
}

uint64_t BlockRun::State::slice() {
  return block.random ? 1 + nextRandom(block.random) % kAdversarialSlice : kSlice;
}

BlockRun::BlockRun(const Launch& launch) : state_(std::make_unique<State>(launch)) {}
BlockRun::~BlockRun() = default;

void BlockRun::start(uint64_t index) {
  Block& block = state_->block;
  const Launch& launch = *block.launch;
  block.index[0] = static_cast<uint32_t>(index % launch.grid[0]);
  block.index[1] = static_cast<uint32_t>(index / launch.grid[0] % launch.grid[1]);
  block.index[2] = static_cast<uint32_t>(index / launch.grid[0] / launch.grid[1]);
  block.serial++;
  block.epoch = 0;
  block.shadow.reset();
  for (Barrier& barrier : block.barriers) barrier.active = false;
  const uint64_t seed = launch.options.adversarialSeed;
  const uint64_t mixed = seed * 0x9E3779B97F4A7C15ull ^ (index + 1) * 0xD1B54A32D192ED03ull;
  block.random = seed ? mixed | 1 : 0;
  std::memset(block.shared, seed ? 0xff : 0, block.sharedBytes);
  for (Warp& warp : block.warps) {
    const uint32_t rest = block.threads - warp.index * kWarpLanes;
    enterKernel(warp, rest >= kWarpLanes ? kAllLanes : (1u << rest) - 1);
  }
  state_->beginRound();
}

bool BlockRun::advance(uint64_t instructions) {
  Block& block = state_->block;
  for (uint64_t spent = 0; spent < instructions;) {
    if (state_->next == state_->order.size()) {
      if (!state_->moved) {
        const bool alive = std::any_of(block.warps.begin(), block.warps.end(),
                                       [](const Warp& warp) { return warp.alive != 0; });
        if (!alive) return true;
        faultDeadlock(block);
      }
      state_->beginRound();
    }
    Warp& warp = block.warps[state_->order[state_->next++]];
    if (!warp.alive || !canRun(warp)) continue;
    state_->moved = true;
    const uint64_t before = warp.instructions;
    runWarp(warp, std::min(state_->slice(), instructions - spent));
    spent += warp.instructions - before;
  }
  return false;
}

void BlockRun::locate(Fault& fault) const {
  const Block& block = state_->block;
  const Program& program = *block.launch->program;
  fault.kernel = program.functions[block.launch->function].name;
  std::copy_n(block.index, 3, fault.block);
  for (const Warp& warp : block.warps) {
    if (!warp.mask) continue;
    fault.line = program.ops[warp.pc].line;
    return;
  }
}

ExecutionCounters BlockRun::takeCounters() {
  ExecutionCounters total;
  for (const Warp& warp : state_->block.warps) {
    total.instructions += warp.instructions;
    total.bytesRead += warp.bytesRead;
    total.bytesWritten += warp.bytesWritten;
  }
  const ExecutionCounters taken = state_->taken;
  state_->taken = total;
  return {total.instructions - taken.instructions, total.bytesRead - taken.bytesRead,
          total.bytesWritten - taken.bytesWritten};
}

}  // namespace sgpu
