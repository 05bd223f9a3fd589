/// Copies that a warp has begun and not waited for.
#pragma once

#include "warp.h"

namespace sgpu {

/// Lets the copies of the lanes in `mask` arrive, but for those of the `keep` groups that each lane
/// committed last. (Those that no group has taken yet count as the newest.)
void completeCopies(Warp& warp, uint32_t mask, uint32_t keep);

}  // namespace sgpu
