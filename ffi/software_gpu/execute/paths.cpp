#include "paths.h"

namespace sgpu {
namespace {

bool precedes(const Path& a, uint32_t pc, const Frame* frame) {
  return a.frame->depth != frame->depth ? a.frame->depth > frame->depth : a.pc < pc;
}

void removePath(std::vector<Path>& paths, size_t index) {
  paths[index] = paths.back();
  paths.pop_back();
}

void mergeEquals(Warp& warp) {
  for (size_t i = warp.waiting.size(); i-- > 0;) {
    const Path& path = warp.waiting[i];
    if (!path.runnable() || path.pc != warp.pc || path.frame != warp.frame) continue;
    warp.mask |= path.mask;
    removePath(warp.waiting, i);
  }
}

uint32_t membersOf(const Op& op, const Frame* frame, unsigned lane) {
  if (op.slots[kMembers] == kNoSlot) return kAllLanes;
  return reinterpret_cast<const uint32_t*>(frame->registers + op.slots[kMembers])[lane];
}

/// For `bar.warp.sync`, whose members may wait at different places: lets all of `members` go on if
/// the waiting ones complete `here`.
bool releaseMembers(Warp& warp, uint32_t here, uint32_t members) {
  const std::vector<Op>& ops = warp.block->launch->program->ops;
  const auto waitsWithUs = [&](const Path& path) {
    const Op& op = ops[path.pc];
    return path.barrier == kMeeting && !op.full && (path.mask & members) == path.mask &&
           membersOf(op, path.frame, __builtin_ctz(path.mask)) == members;
  };
  uint32_t arrived = here;
  for (const Path& path : warp.waiting) {
    if (waitsWithUs(path)) arrived |= path.mask;
  }
  if (members & warp.alive & ~arrived) return false;
  for (Path& path : warp.waiting) {
    if (!waitsWithUs(path)) continue;
    path.pc++;
    path.barrier = -1;
  }
  return true;
}

}  // namespace

bool choosePath(Warp& warp) {
  const Path* best = nullptr;
  for (const Path& path : warp.waiting) {
    if (path.runnable() && (!best || precedes(path, best->pc, best->frame))) best = &path;
  }
  if (!best) return warp.mask != 0;
  if (!warp.mask || (!warp.keepsPath && precedes(*best, warp.pc, warp.frame))) {
    const Path next = *best;
    removePath(warp.waiting, best - warp.waiting.data());
    if (warp.mask) warp.waiting.push_back({warp.pc, warp.mask, warp.frame, -1});
    enterPath(warp, next.pc, next.mask, next.frame);
  }
  mergeEquals(warp);
  return true;
}

void rotatePaths(Warp& warp) {
  warp.keepsPath = false;
  const size_t count = warp.waiting.size();
  for (size_t i = 0; i < count && warp.mask; i++) {
    const size_t index = (warp.turn + i) % count;
    if (!warp.waiting[index].runnable()) continue;
    const Path next = warp.waiting[index];
    warp.waiting[index] = {warp.pc, warp.mask, warp.frame, -1};
    enterPath(warp, next.pc, next.mask, next.frame);
    warp.keepsPath = true;
    warp.turn = static_cast<uint32_t>(index + 1);
    return;
  }
}

uint32_t meet(const Op& op, Warp& warp, uint32_t mask) {
  if (mask == warp.alive) return mask;
  for (size_t i = warp.waiting.size(); i-- > 0;) {
    const Path& path = warp.waiting[i];
    if (path.barrier != kMeeting || path.pc != warp.pc || path.frame != warp.frame) continue;
    mask |= path.mask;
    warp.mask |= path.mask;
    removePath(warp.waiting, i);
  }
  uint32_t ready = 0;
  for (uint32_t rest = mask; rest;) {
    const unsigned lane = __builtin_ctz(rest);
    const uint32_t members = membersOf(op, warp.frame, lane);
    uint32_t group = 0;
    for (uint32_t others = rest; others; others &= others - 1) {
      const unsigned other = __builtin_ctz(others);
      if (membersOf(op, warp.frame, other) == members) group |= 1u << other;
    }
    rest &= ~group;
    if (!(members & warp.alive & ~mask) || (!op.full && releaseMembers(warp, group, members))) {
      ready |= group;
    } else {
      warp.waiting.push_back({warp.pc, group, warp.frame, kMeeting});
      warp.mask &= ~group;
    }
  }
  return ready;
}

void reconsiderMeetings(Warp& warp) {
  for (Path& path : warp.waiting) {
    if (path.barrier == kMeeting) path.barrier = -1;
  }
}

}  // namespace sgpu
