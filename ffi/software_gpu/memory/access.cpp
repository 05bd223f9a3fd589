#include "access.h"

#include "hexadecimal.h"
#include "shadow.h"

namespace sgpu {
namespace {

using ptx::Space;

const char* nameOf(Access kind) {
  if (kind == Access::Atomic) return "atomic operation";
  return writes(kind) ? "write" : "read";
}

/// One access to one lane's memory, and how it fails.
struct Attempt {
  const Op& op;
  Warp& warp;
  unsigned lane;
  Space space;
  uint64_t address;
  uint32_t bytes;
  uint32_t alignment;
  Access kind;

  [[noreturn]] void fail(int code, const std::string& why) const {
    fault(op, warp, code,
          std::string(nameOf(kind)) + " of " + std::to_string(bytes) + " bytes of " +
              nameOf(space) + " memory at " + hexadecimal(address) + ": " + why,
          0, static_cast<int>(lane));
  }

  void aligned() const {
    if (address & (alignment - 1)) {
      fail(kMisalignedAddress, "not a multiple of " + std::to_string(alignment));
    }
  }

  /// In a space that begins at 0.
  uint8_t* within(uint8_t* begin, uint64_t size, const char* owner) const {
    aligned();
    if (address <= size && bytes <= size - address) return begin + address;
    fail(kIllegalAddress, std::string(owner) + " has " + std::to_string(size) + " bytes");
  }

  uint8_t* global() const {
    aligned();
    if (warp.block->ranges.allows(address, address + bytes, writes(kind))) {
      return reinterpret_cast<uint8_t*>(address);
    }
    Range range;
    if (address <= address + bytes && addressSpace().find(address, address + bytes, range)) {
      fail(kIllegalAddress, writes(kind) ? "may only be read" : "may not be read");
    }
    // An access that begins inside a range and crosses its end is described by where it leaves.
    const bool begins = addressSpace().find(address, address + 1, range);
    fail(kIllegalAddress, addressSpace().describe(begins ? range.end : address));
  }

  uint8_t* generic() const {
    const Block& block = *warp.block;
    uint8_t* at = reinterpret_cast<uint8_t*>(address);
    if (at >= warp.shared && at < warp.shared + warp.sharedBytes) {
      Attempt inShared = *this;
      inShared.space = Space::Shared;
      inShared.address = at - warp.shared;
      return inShared.within(warp.shared, warp.sharedBytes, "the block");
    }
    const uint64_t stacks = uint64_t(block.stackBytes) * block.warps.size() * kWarpLanes;
    if (block.local != nullptr && at >= block.local && at < block.local + stacks) {
      uint8_t* own = warp.local(lane);
      Attempt inLocal = *this;
      inLocal.space = Space::Local;
      inLocal.address = at - own;
      if (at < own || at >= own + warp.localBytes()) {
        inLocal.address = address;
        inLocal.fail(kInvalidAddressSpace, "belongs to another thread");
      }
      return inLocal.within(own, warp.localBytes(), "the thread");
    }
    if (!writes(kind) && at >= warp.params && at < warp.params + warp.paramBytes) {
      Attempt inParams = *this;
      inParams.space = Space::Param;
      inParams.address = at - warp.params;
      return inParams.within(const_cast<uint8_t*>(warp.params), warp.paramBytes, "the kernel");
    }
    return global();
  }
};

}  // namespace

uint8_t* locate(const Op& op, Warp& warp, unsigned lane, Space space, uint64_t address,
                uint32_t bytes, uint32_t alignment, Access kind) {
  const Attempt attempt{op, warp, lane, space, address, bytes, alignment, kind};
  switch (space) {
    case Space::Shared: return attempt.within(warp.shared, warp.sharedBytes, "the block");
    case Space::Local: return attempt.within(warp.local(lane), warp.localBytes(), "the thread");
    case Space::Param:
      return attempt.within(const_cast<uint8_t*>(warp.params), warp.paramBytes, "the kernel");
    case Space::Generic: return attempt.generic();
    case Space::Global:
    case Space::Const: break;
  }
  return attempt.global();
}

uint8_t* access(const Op& op, Warp& warp, unsigned lane, Space space, uint64_t address,
                uint32_t bytes, uint32_t alignment, Access kind) {
  uint8_t* at = locate(op, warp, lane, space, address, bytes, alignment, kind);
  if (asksForChecks(warp) && space != Space::Param) inspect(op, warp, lane, at, bytes, kind);
  return at;
}

}  // namespace sgpu
