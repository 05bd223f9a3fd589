/// How the lanes of a warp part and meet: the deepest path runs first, among those the lowest, and
/// paths that come to the same place in the same frame become one.
#pragma once

#include "warp.h"

namespace sgpu {

/// Makes (pc, mask, frame) the path that runs.
inline void enterPath(Warp& warp, uint32_t pc, uint32_t mask, Frame* frame) {
  warp.pc = pc;
  warp.mask = mask;
  if (frame != warp.frame) {
    warp.frame = frame;
    warp.registers = frame->registers;
    warp.predicates = frame->predicates;
  }
}

/// Chooses the path to run next, the running one (if it has lanes) included, and merges equals.
/// @returns Whether there is one.
bool choosePath(Warp& warp);

/// Hands the next slice to another path than rank would choose, if there are several.
void rotatePaths(Warp& warp);

/// Lanes of `mask` arrive at a `Flow::Meet`; those whose partners are missing are put aside.
/// @returns The lanes for which the instruction can run now.
uint32_t meet(const Op& op, Warp& warp, uint32_t mask);

/// After lanes have exited, nobody waits for them.
void reconsiderMeetings(Warp& warp);

}  // namespace sgpu
