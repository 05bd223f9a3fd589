/// Checked access of kernels to memory: where an address points, whether it may, and the shadows
/// behind the optional checks.
#pragma once

#include <cstdint>

#include "../execute/warp.h"
#include "../ptx/module.h"
#include "address_space.h"

namespace sgpu {

enum class Access : uint8_t { Read, Write, Atomic };

/// Host address of `bytes` at a lane's address in a space (`Generic` is told apart here), checked
/// for bounds, alignment to `alignment`, and what the launch's options ask for.
/// @throws Fault 700, 716, 717 or 719
uint8_t* access(const Op& op, Warp& warp, unsigned lane, ptx::Space space, uint64_t address,
                uint32_t bytes, uint32_t alignment, Access kind);

}  // namespace sgpu
