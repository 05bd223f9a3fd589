/// Where the lanes of one load or store lie. Most accesses of a warp are one run of bytes or one
/// address, and are then checked once.
#pragma once

#include <cstdint>

#include "access.h"
#include "shadow.h"

namespace sgpu {

struct Places {
  enum class Shape : uint8_t {
    Scattered,   ///< `at` says where, for the lanes of the mask
    Contiguous,  ///< all 32 lanes, one behind the other from `first`
    Broadcast,   ///< all 32 lanes at `first`
  };
  Shape shape;
  uint8_t* first;
  uint8_t* at[kWarpLanes];

  uint8_t* of(unsigned lane, uint32_t bytes) const {
    if (shape == Shape::Scattered) return at[lane];
    return shape == Shape::Contiguous ? first + lane * bytes : first;
  }
};

/// What an instruction wants of each lane.
struct Request {
  uint32_t slot;   ///< of the lanes' addresses, kNoSlot when `offset` is all
  int64_t offset;  ///< added to them
  uint32_t bytes;  ///< a power of two, to which the places are aligned
  Access kind;
};

/// Finds and checks the places of the lanes of `mask`.
/// @throws Fault
using FindPlaces = void (*)(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                            Places& places);

void findGlobal(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findGeneric(const Op&, Warp&, uint32_t mask, const Request&, Places&);
// In spaces that begin at 0 addresses have 32 bits, or 64 if wide.
void findShared(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findSharedWide(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findLocal(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findLocalWide(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findParam(const Op&, Warp&, uint32_t mask, const Request&, Places&);
void findParamWide(const Op&, Warp&, uint32_t mask, const Request&, Places&);

/// What the launch's options ask for, of places that were found.
/// @throws Fault 719
inline void inspectPlaces(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                          const Places& places) {
  if (!asksForChecks(warp)) return;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    inspect(op, warp, lane, places.of(lane, request.bytes), request.bytes, request.kind);
  }
}

}  // namespace sgpu
