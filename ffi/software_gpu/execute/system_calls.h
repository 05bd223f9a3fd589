/// Functions that the driver, not the module, gives to kernels: what `assert` and `printf` call.
#pragma once

#include <string>
#include <vector>

#include "op.h"

namespace sgpu {

struct SystemCall {
  std::vector<uint32_t> argumentBytes, resultBytes;
  /// Finds the arguments and then the results at `Op::slots`: offsets in the frame's local memory.
  Handler handler;
};

/// @returns nullptr for a name that is none.
const SystemCall* findSystemCall(const std::string& name);

}  // namespace sgpu
