/// Where the lanes of one load or store lie. Most accesses of a warp are one run of bytes or one
/// address, and are then checked once.
#pragma once

#include <cstdint>

#include "access.h"

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

/// Finds and checks `bytes` (a power of two, to which they are aligned) of each lane of `mask` at
/// the address in operand 0 plus `Op::immediate`.
/// @throws Fault
using FindPlaces = void (*)(const Op& op, Warp& warp, uint32_t mask, uint32_t bytes, Access kind,
                            Places& places);

void findGlobal(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findGeneric(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findShared(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findSharedWide(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findLocal(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findLocalWide(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findParam(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);
void findParamWide(const Op&, Warp&, uint32_t mask, uint32_t bytes, Access, Places&);

}  // namespace sgpu
