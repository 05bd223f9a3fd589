/// `.rz`, `.rm` and `.rp`: the handler for the nearest, with the processor told to round otherwise.
#pragma once

#include "lanewise.h"

namespace sgpu {

/// 0: to the nearest; 1, 2, 3: to zero, down, up, as `takeOneOf({"rn", "rz", "rm", "rp"})` says.
/// The handler goes to `immediate`, since it has to stay a call that nothing moves across.
void setRounded(Op& op, Handler handler, unsigned resultBits, int rounding);

}  // namespace sgpu
