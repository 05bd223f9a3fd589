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
  const A first = base[0], step = bytes, whole = base[kWarpLanes - 1] - first;
  // The last lane tells whether it is worth looking at the others.
  if (whole != 0 && whole != (kWarpLanes - 1) * step) return Shape::Scattered;
  const A each = whole == 0 ? 0 : step;
  A differences = 0;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    differences |= base[lane] ^ static_cast<A>(first + lane * each);
  }
  if (differences != 0) return Shape::Scattered;
  return whole == 0 ? Shape::Broadcast : Shape::Contiguous;
}

/// The addresses of the lanes; those outside of `mask` take the first one's, so that they make no
/// difference to what is true of all.
template <class A>
void addressesOf(const A* base, A offset, Warp& warp, uint32_t mask, A* at) {
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpLanes; lane++) at[lane] = base[lane] + offset;
    return;
  }
  const int32_t* active = warp.laneMask(mask);
  const A other = base[__builtin_ctz(mask)] + offset;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    const A own = base[lane] + offset;
    at[lane] = active[lane] ? own : other;
  }
}

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

/// Lanes anywhere in memory that begins at 0 for the program, and `stride` apart for each lane at
/// `begin` for us.
template <class A>
void findScattered(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
                   uint8_t* begin, uint64_t stride, uint64_t size, Places& places) {
  alignas(64) A at[kWarpLanes];
  addressesOf(bases<A>(warp, request), static_cast<A>(request.offset), warp, mask, at);
  if (size < request.bytes) return findEach(op, warp, mask, request, space, at, places);
  const A last = static_cast<A>(size - request.bytes), low = request.bytes - 1;
  A bad = 0;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    bad |= (at[lane] & low) | (at[lane] > last ? 1 : 0);
    places.at[lane] = begin + lane * stride + at[lane];
  }
  if (bad != 0) return findEach(op, warp, mask, request, space, at, places);
  places.shape = Shape::Scattered;
}

/// Memory that all lanes share and that begins at 0.
template <class A>
void findWithin(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
                uint8_t* begin, uint64_t size, Places& places) {
  const A* base = bases<A>(warp, request);
  const uint32_t bytes = request.bytes;
  const Shape shape = mask == kAllLanes ? shapeOf(base, bytes) : Shape::Scattered;
  if (shape != Shape::Scattered) {
    const uint64_t first = static_cast<A>(base[0] + static_cast<A>(request.offset));
    const uint64_t length = shape == Shape::Contiguous ? kWarpLanes * bytes : bytes;
    if (first <= size && length <= size - first && (first & (bytes - 1)) == 0) {
      places.shape = shape;
      places.first = begin + first;
      return;
    }
  }
  findScattered<A>(op, warp, mask, request, space, begin, 0, size, places);
}

/// Memory whose addresses are the host's.
void findByAddress(const Op& op, Warp& warp, uint32_t mask, const Request& request, Space space,
                   Places& places) {
  const uint64_t* base = bases<uint64_t>(warp, request);
  const uint32_t bytes = request.bytes;
  const uint64_t offset = static_cast<uint64_t>(request.offset);
  const bool isWrite = writes(request.kind);
  RangeCache& ranges = warp.block->ranges;
  uint64_t& counter = isWrite ? warp.bytesWritten : warp.bytesRead;
  const uint64_t moved = uint64_t(bytes) * __builtin_popcount(mask);
  const Shape shape = mask == kAllLanes ? shapeOf(base, bytes) : Shape::Scattered;
  if (shape != Shape::Scattered) {
    const uint64_t first = base[0] + offset;
    const uint64_t length = shape == Shape::Contiguous ? kWarpLanes * bytes : bytes;
    if ((first & (bytes - 1)) == 0 && ranges.allows(first, first + length, isWrite)) {
      places.shape = shape;
      places.first = reinterpret_cast<uint8_t*>(first);
      counter += moved;
      return;
    }
  }
  alignas(64) uint64_t at[kWarpLanes];
  addressesOf(base, offset, warp, mask, at);
  uint64_t lowest = ~uint64_t(0), highest = 0, bits = 0;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    lowest = std::min(lowest, at[lane]);
    highest = std::max(highest, at[lane]);
    bits |= at[lane];
    places.at[lane] = reinterpret_cast<uint8_t*>(at[lane]);
  }
  const uint64_t end = highest + bytes, shared = reinterpret_cast<uint64_t>(warp.shared);
  const bool inShared =
      space == Space::Generic && lowest >= shared && end <= shared + warp.sharedBytes;
  if ((bits & (bytes - 1)) != 0 || !(inShared || ranges.allows(lowest, end, isWrite))) {
    // By generic addresses that lie here and there, what is global is not worth finding out.
    if (space != Space::Generic) counter += moved;
    return findEach(op, warp, mask, request, space, at, places);
  }
  if (!inShared) counter += moved;
  places.shape = Shape::Scattered;
}

/// Each lane has its own.
template <class A>
void findStacks(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  const uint64_t size = warp.localBytes();
  findScattered<A>(op, warp, mask, request, Space::Local, warp.local(0), size, size, places);
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

void findSharedWide(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                    Places& places) {
  findWithin<uint64_t>(op, warp, mask, request, Space::Shared, warp.shared, warp.sharedBytes,
                       places);
}

void findLocal(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findStacks<uint32_t>(op, warp, mask, request, places);
}

void findLocalWide(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                   Places& places) {
  findStacks<uint64_t>(op, warp, mask, request, places);
}

void findParam(const Op& op, Warp& warp, uint32_t mask, const Request& request, Places& places) {
  findParams<uint32_t>(op, warp, mask, request, places);
}

void findParamWide(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                   Places& places) {
  findParams<uint64_t>(op, warp, mask, request, places);
}

}  // namespace sgpu
