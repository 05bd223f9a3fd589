#include "handles.h"

#include <atomic>

namespace sgpu {
namespace {

constexpr unsigned kKindShift = 44;
std::atomic<uint64_t> serials{0};

}  // namespace

uint64_t newHandle(Kind kind) {
  // Multiples of 16, as the vendor's are addresses; below 2^53, so that any language can hold them.
  return static_cast<uint64_t>(kind) << kKindShift | ++serials << 4;
}

bool isOfKind(uint64_t handle, Kind kind) {
  const uint64_t serial = handle & ((uint64_t(1) << kKindShift) - 1);
  return handle >> kKindShift == static_cast<uint64_t>(kind) && serial % 16 == 0 &&
         serial >> 4 <= serials && serial != 0;
}

}  // namespace sgpu
