#include "fault.h"

#include <sstream>

#include "warp.h"

namespace sgpu {

std::string Fault::message() const {
  std::ostringstream text;
  text << what;
  if (address) text << " at 0x" << std::hex << address << std::dec;
  if (!kernel.empty()) {
    text << ", in kernel " << kernel << ", block (" << block[0] << "," << block[1] << ","
         << block[2] << ")";
    if (lane >= 0) {
      text << ", thread (" << thread[0] << "," << thread[1] << "," << thread[2] << ")";
    }
    if (line) text << ", PTX line " << line;
  }
  return text.str();
}

void fault(const Op& op, Warp& warp, int code, const std::string& what, uint64_t address,
           int lane) {
  const Block& block = *warp.block;
  const Launch& launch = *block.launch;
  Fault fault{code, what, address};
  fault.kernel = launch.program->functions[launch.function].name;
  fault.line = op.line;
  fault.lane = lane;
  for (unsigned axis = 0; axis < 3; axis++) fault.block[axis] = block.index[axis];
  const uint32_t thread = warp.index * kWarpLanes + (lane < 0 ? 0 : lane);
  fault.thread[0] = thread % launch.block[0];
  fault.thread[1] = thread / launch.block[0] % launch.block[1];
  fault.thread[2] = thread / launch.block[0] / launch.block[1];
  throw fault;
}

}  // namespace sgpu
