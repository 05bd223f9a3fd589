/// `prmt`: four bytes out of eight.
#pragma once

#include "op.h"

namespace sgpu {

/// -1: each byte named by a nibble of the selector; else a mode of {f4e, b4e, rc8, ecl, ecr, rc16}.
Handler permuteHandler(int mode);

}  // namespace sgpu
