/// From where to where a register's value is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "../ptx/module.h"
#include "flow_graph.h"

namespace sgpu {

/// Instructions `begin` to `end`, both included. `begin > end` for a register that is not mentioned.
struct Interval {
  uint32_t begin = ~0u, end = 0;
};

/// One interval for each register, without holes: what lies between the first and the last place
/// where the value is live. Lanes that are parted are like threads of their own here, since each has
/// its own part of a slot; a guarded write leaves the old value to the lanes that it skips, so it
/// does not end the old value's life.
/// @throws CompileError when the function is too large to be worth the time.
std::vector<Interval> findIntervals(const ptx::Function& function, const FlowGraph& graph);

}  // namespace sgpu
