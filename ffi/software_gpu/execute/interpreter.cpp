#include "interpreter.h"

#include <algorithm>
#include <cstring>

#include "../memory/shadow.h"
#include "paths.h"
#include "warp.h"

namespace sgpu {
namespace {

/// Copies each lane's arguments, or results, between two frames of its local memory.
template <class From, class To>
void copyParams(Warp& warp, uint32_t mask, const std::vector<uint32_t>& bytes, From from, To to) {
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    uint8_t* local = warp.local(lane);
    for (size_t i = 0; i < bytes.size(); i++) {
      std::memcpy(local + to(i), local + from(i), bytes[i]);
      markLocalWritten(warp, lane, to(i), bytes[i]);
    }
  }
}

bool fits(const std::vector<uint32_t>& bytes, const std::vector<ParamLayout>& layouts) {
  const auto same = [](uint32_t given, const ParamLayout& layout) { return given == layout.bytes; };
  return std::equal(bytes.begin(), bytes.end(), layouts.begin(), layouts.end(), same);
}

/// Lanes of the running path begin a function in a frame of their own; they leave the path.
void call(const Op& op, Warp& warp, uint32_t mask, uint32_t function) {
  const Program& program = *warp.block->launch->program;
  const CallSite& site = program.callSites[op.immediate];
  const FunctionCode& code = program.functions[function];
  if (op.flow == Flow::IndirectCall &&
      !(fits(site.argumentBytes, code.params) && fits(site.resultBytes, code.results))) {
    fault(op, warp, kInvalidProgramCounter,
          "call through a pointer with parameters that " + code.name + " does not have", 0,
          __builtin_ctz(mask));
  }
  Frame* frame = warp.frames.join(warp, function, warp.frame, warp.pc + 1, mask);
  if (!frame) {
    frame = warp.frames.take(op, warp, function, warp.frame, mask);
    frame->returnTo = warp.pc + 1;
    frame->callSite = static_cast<uint32_t>(op.immediate);
  }
  copyParams(warp, mask, site.argumentBytes,
             [&](size_t i) { return warp.frame->localOffset + site.arguments[i]; },
             [&](size_t i) { return frame->localOffset + code.params[i].offset; });
  warp.waiting.push_back({code.begin, mask, frame, -1});
  warp.mask &= ~mask;
}

void callIndirect(const Op& op, Warp& warp, uint32_t mask) {
  const auto* addresses = reinterpret_cast<const uint64_t*>(warp.registers + op.slots[0]);
  const size_t functions = warp.block->launch->program->functions.size();
  while (mask) {
    const unsigned lane = __builtin_ctz(mask);
    const uint64_t address = addresses[lane];
    const uint64_t index = (address - kFunctionAddressBase) / 16;
    if (index >= functions || functionAddress(static_cast<uint32_t>(index)) != address) {
      fault(op, warp, kInvalidProgramCounter, "call of something that is no function", address,
            lane);
    }
    uint32_t same = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      if (addresses[__builtin_ctz(rest)] == address) same |= 1u << __builtin_ctz(rest);
    }
    call(op, warp, same, static_cast<uint32_t>(index));
    mask &= ~same;
  }
}

void branchIndirect(const Op& op, Warp& warp, uint32_t mask) {
  const auto* indices = reinterpret_cast<const uint32_t*>(warp.registers + op.slots[0]);
  const std::vector<uint32_t>& targets =
      warp.block->launch->program->branchTargets[op.immediate];
  for (size_t target = 0; target < targets.size(); target++) {
    uint32_t same = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      if (indices[__builtin_ctz(rest)] == target) same |= 1u << __builtin_ctz(rest);
    }
    if (!same) continue;
    warp.waiting.push_back({targets[target], same, warp.frame, -1});
    warp.mask &= ~same;
    mask &= ~same;
  }
  if (mask) {
    const int lane = __builtin_ctz(mask);
    fault(op, warp, kInvalidProgramCounter,
          "branch to target " + std::to_string(indices[lane]) + " of " +
              std::to_string(targets.size()), 0, lane);
  }
}

void exitLanes(Warp& warp, uint32_t mask) {
  warp.mask &= ~mask;
  warp.alive &= ~mask;
  leaveFrames(warp, warp.frame, mask);
  reconsiderMeetings(warp);
  completeBarriersOfAll(*warp.block);
}

void returnLanes(Warp& warp, uint32_t mask) {
  Frame* frame = warp.frame;
  Frame* caller = frame->caller;
  if (!caller) return exitLanes(warp, mask);
  const CallSite& site = warp.block->launch->program->callSites[frame->callSite];
  copyParams(warp, mask, site.resultBytes,
             [&](size_t i) { return frame->localOffset + frame->function->results[i].offset; },
             [&](size_t i) { return caller->localOffset + site.results[i]; });
  warp.mask &= ~mask;
  warp.waiting.push_back({frame->returnTo, mask, caller, -1});
  frame->lanes &= ~mask;
  if (!frame->lanes) warp.frames.release(frame);
}

/// Carries out what only the warp can: all flows but `Next`. `mask` is never 0.
/// @returns Whether the slice goes on.
bool transfer(const Op& op, Warp& warp, uint32_t mask) {
  switch (op.flow) {
    case Flow::Branch:
      if (mask != warp.mask) {
        warp.waiting.push_back({warp.pc + 1, warp.mask & ~mask, warp.frame, -1});
        warp.mask = mask;
      }
      warp.pc = op.target;
      return true;
    case Flow::IndirectBranch:
      branchIndirect(op, warp, mask);
      break;
    case Flow::Call:
      call(op, warp, mask, op.target);
      break;
    case Flow::IndirectCall:
      callIndirect(op, warp, mask);
      break;
    case Flow::Return:
      returnLanes(warp, mask);
      break;
    case Flow::Exit:
      exitLanes(warp, mask);
      break;
    case Flow::Barrier: {
      const int id = arriveAtBarrier(op, warp, mask);
      if (waitsAtBarrier(op)) {
        warp.waiting.push_back({warp.pc + 1, mask, warp.frame, id});
        warp.mask &= ~mask;
      }
      completeBarrier(*warp.block, id);
      break;
    }
    case Flow::Meet: {
      const uint32_t ready = meet(op, warp, mask);
      if (ready && op.full) (ready == kAllLanes ? op.full : op.partial)(op, warp, ready);
      break;
    }
    case Flow::Next:
    case Flow::Yield:
      break;
  }
  warp.pc++;  // of the lanes that stay on the path
  return op.flow != Flow::Yield;
}

}  // namespace

void enterKernel(Warp& warp, uint32_t alive) {
  const Launch& launch = *warp.block->launch;
  const FunctionCode& code = launch.program->functions[launch.function];
  warp.waiting.clear();
  warp.pending.clear();
  std::fill_n(warp.copyGroup, kWarpLanes, 0);
  warp.frames.releaseAll();
  warp.keepsPath = false;
  warp.alive = alive;
  warp.frame = nullptr;
  Frame* frame = warp.frames.take(launch.program->ops[code.begin], warp, launch.function, nullptr,
                                  alive);
  enterPath(warp, code.begin, alive, frame);
}

bool canRun(const Warp& warp) {
  if (warp.mask) return true;
  return std::any_of(warp.waiting.begin(), warp.waiting.end(),
                     [](const Path& path) { return path.runnable(); });
}

Progress runWarp(Warp& warp, uint64_t instructions) {
  const Op* const ops = warp.block->launch->program->ops.data();
  const uint64_t end = warp.instructions + instructions;
  if (!warp.mask && !choosePath(warp)) return warp.alive ? Progress::Waits : Progress::Ended;
  // The place stays in a register of the host while nothing but handlers run.
  const Op* op = ops + warp.pc;
  const auto keepPlace = [&] { warp.pc = static_cast<uint32_t>(op - ops); };
  for (;;) {
    if (__builtin_expect(op->leader && !warp.waiting.empty(), 0)) {
      keepPlace();
      choosePath(warp);
      op = ops + warp.pc;
    }
    if (__builtin_expect(warp.instructions >= end, 0)) break;
    uint32_t mask = warp.mask;
    if (op->straight > 1 && mask == kAllLanes && warp.instructions + op->straight <= end) {
      // Nothing in between can part the lanes, so nothing is asked in between.
      const Op* const last = op + op->straight;
      warp.instructions += op->straight;
      for (; op != last; op++) op->full(*op, warp, kAllLanes);
      continue;
    }
    warp.instructions++;
    if (op->guard >= 0) {
      const uint32_t predicate = warp.predicates[op->guard];
      mask &= op->guardNegated ? ~predicate : predicate;
    }
    if (__builtin_expect(op->flow == Flow::Next, 1)) {
      if (mask == kAllLanes) {
        op->full(*op, warp, mask);
      } else if (mask) {
        op->partial(*op, warp, mask);
      }
      op++;
    } else if (!mask) {
      op++;
    } else {
      keepPlace();
      const bool goesOn = transfer(*op, warp, mask);
      if ((!warp.waiting.empty() || !warp.mask) && !choosePath(warp)) {
        return warp.alive ? Progress::Waits : Progress::Ended;
      }
      op = ops + warp.pc;
      if (!goesOn) break;
    }
  }
  keepPlace();
  if (warp.keepsPath) {
    warp.keepsPath = false;
    choosePath(warp);
  } else if (!warp.waiting.empty()) {
    rotatePaths(warp);
  }
  return Progress::SliceOver;
}

}  // namespace sgpu
