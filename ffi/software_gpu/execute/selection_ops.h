#pragma once

#include <vector>

#include "../compile/decode.h"

namespace sgpu {

/// selp, slct and testp
std::vector<OpcodeRow> selectionOpcodes();

}  // namespace sgpu
