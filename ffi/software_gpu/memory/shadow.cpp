#include "shadow.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "hexadecimal.h"
#include "written_bits.h"

namespace sgpu {
namespace {

/// Bytes of global memory that nobody wrote: kept only for pages that have such bytes, so that all
/// memory which came into being before the check was asked for counts as written.
class FreshMemory {
 public:
  void mark(uint64_t begin, uint64_t end, bool fresh) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    for (uint64_t at = begin; at < end;) {
      const uint64_t page = at / kPage, from = at % kPage;
      const uint64_t to = std::min(end - page * kPage, kPage);
      if (!fresh && from == 0 && to == kPage) {
        written_.erase(page);
      } else if (auto bits = bitsOf(page, fresh)) {
        bits->set(from, to, !fresh);
      }
      at = (page + 1) * kPage;
    }
  }

  uint64_t firstUnwritten(uint64_t begin, uint64_t end) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (uint64_t at = begin; at < end;) {
      const uint64_t page = at / kPage, to = std::min(end - page * kPage, kPage);
      const auto found = written_.find(page);
      if (found != written_.end()) {
        const uint64_t first = found->second.firstUnwritten(at % kPage, to);
        if (first < to) return page * kPage + first;
      }
      at = (page + 1) * kPage;
    }
    return end;
  }

  void clear() {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    written_.clear();
  }

 private:
  static constexpr uint64_t kPage = 65536;

  WrittenBits* bitsOf(uint64_t page, bool make) {
    const auto found = written_.find(page);
    if (found != written_.end()) return &found->second;
    if (!make) return nullptr;
    WrittenBits& bits = written_[page];
    bits.reset(kPage);
    bits.set(0, kPage, true);
    return &bits;
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, WrittenBits> written_;
};

FreshMemory& freshMemory() {
  static FreshMemory memory;
  return memory;
}

std::atomic<bool> tracksGlobalWrites{false};

/// The last touch of one byte of shared memory, of one kind.
struct Touch {
  uint32_t epoch = 0;  ///< 0: none yet; otherwise one more than the block's
  uint32_t line = 0;
  uint16_t warp = 0;
  bool strong = false;
  bool many = false;   ///< several warps, of which `warp` is one
};

struct ByteHistory {
  Touch read, written;
};

}  // namespace

class BlockShadow {
 public:
  explicit BlockShadow(const Block& block) {
    const ExecutionOptions& options = block.launch->options;
    if (options.checkRaces) history_.resize(block.sharedBytes);
    if (options.checkUninitialised) {
      shared_.reset(block.sharedBytes);
      local_.reset(uint64_t(block.stackBytes) * block.warps.size() * kWarpLanes);
    }
  }

  static BlockShadow& of(Warp& warp) {
    Block& block = *warp.block;
    if (!block.shadow) block.shadow = std::make_shared<BlockShadow>(block);
    return *block.shadow;
  }

  void checkRace(const Op& op, Warp& warp, unsigned lane, uint64_t offset, uint32_t bytes,
                 Access kind) {
    const uint32_t epoch = warp.block->epoch + 1;
    const bool strong = kind != Access::Read && kind != Access::Write;
    for (uint64_t at = offset; at < offset + bytes; at++) {
      ByteHistory& byte = history_[at];
      if (conflicts(byte.written, warp, epoch, strong)) {
        failRace(op, warp, lane, at, byte.written, "written", kind);
      }
      if (writes(kind)) {
        if (conflicts(byte.read, warp, epoch, strong)) {
          failRace(op, warp, lane, at, byte.read, "read", kind);
        }
        note(byte.written, op, warp, epoch, strong);
      } else {
        note(byte.read, op, warp, epoch, strong);
      }
    }
  }

  WrittenBits& sharedBits() { return shared_; }
  WrittenBits& localBits() { return local_; }

 private:
  static bool conflicts(const Touch& touch, const Warp& warp, uint32_t epoch, bool strong) {
    return touch.epoch == epoch && (touch.many || touch.warp != warp.index) &&
           !(strong && touch.strong);
  }

  static void note(Touch& touch, const Op& op, const Warp& warp, uint32_t epoch, bool strong) {
    if (touch.epoch == epoch) {
      touch.many |= touch.warp != warp.index;
      touch.strong &= strong;
      return;
    }
    touch = {epoch, op.line, static_cast<uint16_t>(warp.index), strong, false};
  }

  [[noreturn]] static void failRace(const Op& op, Warp& warp, unsigned lane, uint64_t at,
                                    const Touch& other, const char* how, Access kind) {
    fault(op, warp, kLaunchFailed,
          "race in shared memory at " + hexadecimal(at) + ": " +
              (writes(kind) ? "written" : "read") + " by warp " + std::to_string(warp.index) +
              " at line " + std::to_string(op.line) + " and " + how + " by warp " +
              std::to_string(other.warp) + " at line " + std::to_string(other.line) +
              " with no barrier between",
          0, static_cast<int>(lane));
  }

  std::vector<ByteHistory> history_;  // of shared memory
  WrittenBits shared_, local_;
};

namespace {

[[noreturn]] void failUnwritten(const Op& op, Warp& warp, unsigned lane, const char* space,
                                uint64_t address, uint32_t bytes, uint64_t first) {
  fault(op, warp, kLaunchFailed,
        "read of " + std::to_string(bytes) + " bytes of " + space + " memory at " +
            hexadecimal(address) + ": byte " + std::to_string(first - address) +
            " of them was never written",
        0, static_cast<int>(lane));
}

void checkWritten(const Op& op, Warp& warp, unsigned lane, WrittenBits& bits, const char* space,
                  uint64_t offset, uint32_t bytes, Access kind) {
  if (reads(kind)) {
    const uint64_t first = bits.firstUnwritten(offset, offset + bytes);
    if (first != offset + bytes) failUnwritten(op, warp, lane, space, offset, bytes, first);
  }
  if (writes(kind)) bits.set(offset, offset + bytes, true);
}

}  // namespace

void inspect(const Op& op, Warp& warp, unsigned lane, const uint8_t* at, uint32_t bytes,
             Access kind) {
  const Block& block = *warp.block;
  const ExecutionOptions& options = block.launch->options;
  if (at >= block.shared && at < block.shared + block.sharedBytes) {
    BlockShadow& shadow = BlockShadow::of(warp);
    const uint64_t offset = at - block.shared;
    if (options.checkRaces) shadow.checkRace(op, warp, lane, offset, bytes, kind);
    if (options.checkUninitialised) {
      checkWritten(op, warp, lane, shadow.sharedBits(), "shared", offset, bytes, kind);
    }
    return;
  }
  if (!options.checkUninitialised) return;
  const uint8_t* own = warp.local(lane);
  if (own != nullptr && at >= own && at < own + warp.localBytes()) {
    const uint64_t bottom = own - block.local;
    WrittenBits& bits = BlockShadow::of(warp).localBits();
    if (reads(kind)) {
      const uint64_t begin = at - block.local;
      const uint64_t first = bits.firstUnwritten(begin, begin + bytes);
      if (first != begin + bytes) {
        failUnwritten(op, warp, lane, "local", begin - bottom, bytes, first - bottom);
      }
    }
    if (writes(kind)) bits.set(at - block.local, at - block.local + bytes, true);
    return;
  }
  if (!tracksGlobalWrites.load(std::memory_order_relaxed)) return;
  const uint64_t address = reinterpret_cast<uint64_t>(at);
  if (reads(kind)) {
    const uint64_t first = firstUnwritten(address, address + bytes);
    if (first != address + bytes) failUnwritten(op, warp, lane, "global", address, bytes, first);
  }
  if (writes(kind)) markWritten(address, address + bytes);
}

void inspectCopyBegin(const Op& op, Warp& warp, unsigned lane, const uint8_t* at, uint32_t bytes) {
  inspect(op, warp, lane, at, bytes, Access::Write);
  if (warp.block->launch->options.checkUninitialised) {
    const uint64_t offset = at - warp.block->shared;
    BlockShadow::of(warp).sharedBits().set(offset, offset + bytes, false);
  }
}

void markLocalWritten(Warp& warp, unsigned lane, uint32_t offset, uint32_t bytes) {
  if (!warp.block->launch->options.checkUninitialised) return;
  const uint64_t begin = warp.local(lane) - warp.block->local + offset;
  BlockShadow::of(warp).localBits().set(begin, begin + bytes, true);
}

void trackGlobalWrites(bool on) {
  tracksGlobalWrites.store(on, std::memory_order_relaxed);
  if (!on) freshMemory().clear();
}

void markFresh(uint64_t begin, uint64_t end) {
  if (tracksGlobalWrites.load(std::memory_order_relaxed)) freshMemory().mark(begin, end, true);
}

void markWritten(uint64_t begin, uint64_t end) {
  if (tracksGlobalWrites.load(std::memory_order_relaxed)) freshMemory().mark(begin, end, false);
}

uint64_t firstUnwritten(uint64_t begin, uint64_t end) {
  return freshMemory().firstUnwritten(begin, end);
}

}  // namespace sgpu
