#pragma once

#include <vector>

#include "../compile/decode.h"

namespace sgpu {

/// mov and cvta
std::vector<OpcodeRow> moveOpcodes();

}  // namespace sgpu
