#include "places.h"

#include <algorithm>

namespace sgpu {
namespace {

using ptx::Space;
using Shape = Places::Shape;

alignas(256) const uint8_t kZeros[kWarpLanes * 8] = {};

template <class A>
const A* bases(const Warp& warp, const Request& request) {
  return reinterpret_cast<const A*>(request.slot == kNoSlot ? kZeros
                                                            : warp.registers + request.slot);
}

/// Whether all 32 lanes lie one behind the other or at one address, from `base[0]`.
template <class A>
Shape shapeOf(const A* base, uint32_t bytes) {
  const A first = base[0], step = bytes;
  A gaps = 0, differences = 0;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    gaps |= base[lane] ^ static_cast<A>(first + lane * step);
    differences |= base[lane] ^ first;
  }
  if (gaps == 0) return Shape::Contiguous;
  return differences == 0 ? Shape::Broadcast : Shape::Scattered;
}

/// The addresses of the lanes; those outside of `mask` take the first one's, so that the extremes
/// and the alignment below are those of the mask.
template <class A>
struct Addresses {
  alignas(64) A at[kWarpLanes];
  A lowest, highest, bits;

  Addresses(const A* base, A offset, Warp& warp, uint32_t mask) {
    if (mask == kAllLanes) {
#pragma GCC ivdep
      for (unsigned lane = 0; lane < kWarpLanes; lane++) at[lane] = base[lane] + offset;
    } else {
      const int32_t* active = warp.laneMask(mask);
      const A other = base[__builtin_ctz(mask)] + offset;
#pragma GCC ivdep
      for (unsigned lane = 0; lane < kWarpLanes; lane++) {
        const A own = base[lane] + offset;
        at[lane] = active[lane] ? own : other;
      }
    }
    lowest = highest = bits = at[0];
#pragma GCC ivdep
    for (unsigned lane = 1; lane < kWarpLanes; lane++) {
      lowest = std::min(lowest, at[lane]);
      highest = std::max(highest, at[lane]);
      bits |= at[lane];
    }
  }
};

/// The slow way, for accesses that no single check covers: it also throws with the lane at fault.
template <class A>
void findEach(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
              const A* at, Places& places) {
  places.shape = Shape::Scattered;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    places.at[lane] = locate(op, warp, lane, space, at[lane], request.bytes, request.bytes,
                             request.kind);
  }
}

/// Memory that begins at 0 for the program and at `begin` for us.
template <class A>
void findWithin(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
                uint8_t* begin, uint64_t size, Places& places) {
  const A* base = bases<A>(warp, request);
  const uint32_t bytes = request.bytes;
  const A offset = static_cast<A>(request.offset);
  if (mask == kAllLanes) {
    const Shape shape = shapeOf(base, bytes);
    const uint64_t first = static_cast<A>(base[0] + offset);
    const uint64_t length = shape == Shape::Contiguous ? kWarpLanes * bytes : bytes;
    if (shape != Shape::Scattered && first <= size && length <= size - first &&
        (first & (bytes - 1)) == 0) {
      places.shape = shape;
      places.first = begin + first;
      return;
    }
  }
  const Addresses<A> lanes(base, offset, warp, mask);
  if (lanes.highest > size || bytes > size - lanes.highest || (lanes.bits & (bytes - 1)) != 0) {
    return findEach(op, warp, mask, request, space, lanes.at, places);
  }
  places.shape = Shape::Scattered;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) places.at[lane] = begin + lanes.at[lane];
}

/// Memory whose addresses are the host's.
void findByAddress(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
                   Places& places) {
  const uint64_t* base = bases<uint64_t>(warp, request);
  const uint32_t bytes = request.bytes;
  const uint64_t offset = static_cast<uint64_t>(request.offset);
  RangeCache& ranges = warp.block->ranges;
  const uint64_t moved = uint64_t(bytes) * __builtin_popcount(mask);
  (writes(request.kind) ? warp.bytesWritten : warp.bytesRead) += moved;
  if (mask == kAllLanes) {
    const Shape shape = shapeOf(base, bytes);
    const uint64_t first = base[0] + offset;
    const uint64_t length = shape == Shape::Contiguous ? kWarpLanes * bytes : bytes;
    if (shape != Shape::Scattered && (first & (bytes - 1)) == 0 &&
        ranges.allows(first, first + length, writes(request.kind))) {
      places.shape = shape;
      places.first = reinterpret_cast<uint8_t*>(first);
      return;
    }
  }
  const Addresses<uint64_t> lanes(base, offset, warp, mask);
  const uint64_t end = lanes.highest + bytes;
  const uint64_t shared = reinterpret_cast<uint64_t>(warp.shared);
  const bool inShared =
      space == Space::Generic && lanes.lowest >= shared && end <= shared + warp.sharedBytes;
  if ((lanes.bits & (bytes - 1)) != 0 ||
      !(inShared || ranges.allows(lanes.lowest, end, writes(request.kind)))) {
    return findEach(op, warp, mask, request, space, lanes.at, places);
  }
  places.shape = Shape::Scattered;
  std::memcpy(places.at, lanes.at, sizeof places.at);
}

template <class A>
void findStacks(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  const Addresses<A> lanes(bases<A>(warp, request), static_cast<A>(request.offset), warp, mask);
  const uint64_t size = warp.localBytes();
  const uint32_t bytes = request.bytes;
  if (lanes.highest > size || bytes > size - lanes.highest || (lanes.bits & (bytes - 1)) != 0) {
    return findEach(op, warp, mask, request, Space::Local, lanes.at, places);
  }
  places.shape = Shape::Scattered;
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    places.at[lane] = warp.local(lane) + lanes.at[lane];
  }
}

template <class A>
void findParams(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findWithin<A>(op, warp, mask, request, Space::Param, const_cast<uint8_t*>(warp.params),
                warp.paramBytes, places);
}

}  // namespace

void findGlobal(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findByAddress(op, warp, mask, request, Space::Global, places);
}

void findGeneric(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findByAddress(op, warp, mask, request, Space::Generic, places);
}

void findShared(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findWithin<uint32_t>(op, warp, mask, request, Space::Shared, warp.shared, warp.sharedBytes,
                       places);
}

void findSharedWide(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findWithin<uint64_t>(op, warp, mask, request, Space::Shared, warp.shared, warp.sharedBytes,
                       places);
}

void findLocal(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findStacks<uint32_t>(op, warp, mask, request, places);
}

void findLocalWide(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findStacks<uint64_t>(op, warp, mask, request, places);
}

void findParam(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findParams<uint32_t>(op, warp, mask, request, places);
}

void findParamWide(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findParams<uint64_t>(op, warp, mask, request, places);
}

}  // namespace sgpu
