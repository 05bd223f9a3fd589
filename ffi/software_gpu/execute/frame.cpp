#include "frame.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "special_registers.h"
#include "warp.h"

namespace sgpu {
namespace {

constexpr size_t kAlignment = 128;  // a slot of 32 lanes, so that vectors never straddle two
constexpr uint32_t kReturnAddress = 16;  // what a call itself takes of the stack: bounds recursion

struct Free {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};

template <class T>
void broadcast(uint8_t* slot, uint64_t value) {
  std::fill_n(reinterpret_cast<T*>(slot), kWarpLanes, static_cast<T>(value));
}

uint64_t valueOf(const Constant& constant, const Frame& frame, const Warp& warp) {
  switch (constant.kind) {
    case Constant::Kind::Value: return constant.value;
    case Constant::Kind::Local: return frame.localOffset + constant.value;
    case Constant::Kind::DynamicShared: break;
  }
  return warp.block->dynamicSharedOffset + constant.value;
}

void fillConstants(const Frame& frame, const Warp& warp) {
  for (const Constant& constant : frame.function->constants) {
    const uint64_t value = valueOf(constant, frame, warp);
    if (constant.bits == 1) {
      frame.predicates[constant.slot] = value ? kAllLanes : 0;
    } else if (constant.bits == 64) {
      broadcast<uint64_t>(frame.registers + constant.slot, value);
    } else {
      broadcast<uint32_t>(frame.registers + constant.slot, value);
    }
  }
}

template <class T>
void fillLanes(uint8_t* slot, const SpecialRegister& special, const Warp& warp) {
  if (special.changes == SpecialRegister::Changes::ByBlock) {
    return broadcast<T>(slot, special.read(warp, 0));
  }
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    reinterpret_cast<T*>(slot)[lane] = static_cast<T>(special.read(warp, lane));
  }
}

/// Looked up once, since a block that does little would spend its time on names.
std::vector<const SpecialRegister*> specialsOf(const FunctionCode& code) {
  std::vector<const SpecialRegister*> found;
  for (const SpecialSlot& special : code.specials) {
    const SpecialRegister* known = specialRegister(special.name);
    if (!known) {
      throw Fault{kIllegalInstruction, "there is no special register " + special.name};
    }
    found.push_back(known);
  }
  return found;
}

/// Lanes outside may have a frame at the same depth, with arguments in it.
void poisonLocal(Warp& warp, const FunctionCode& code, uint32_t localOffset, uint32_t lanes) {
  if (!code.localBytes || !warp.block->launch->options.adversarialSeed) return;
  for (; lanes; lanes &= lanes - 1) {
    std::memset(warp.local(__builtin_ctz(lanes)) + localOffset, 0xff, code.localBytes);
  }
}

}  // namespace

struct FramePool::Kept : Frame {
  std::unique_ptr<uint8_t[], Free> memory;
  size_t bytes = 0;
  std::vector<const SpecialRegister*> specials;  ///< as in `function->specials`
  bool taken = false;
  bool filled = false;
  uint64_t block = 0;  ///< serial of the block that its special registers are of

  explicit Kept(const FunctionCode& code) : specials(specialsOf(code)) {
    const size_t wanted = code.registerBytes + code.predicates * sizeof(uint32_t);
    bytes = (wanted / kAlignment + 1) * kAlignment;
    memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, bytes)));
    if (!memory) throw std::bad_alloc();
    std::memset(memory.get(), 0, bytes);
    function = &code;
    registers = memory.get();
    predicates = reinterpret_cast<uint32_t*>(registers + code.registerBytes);
  }

  void fillSpecials(const Warp& warp, bool onlyOfBlock) {
    for (size_t i = 0; i < specials.size(); i++) {
      const SpecialRegister& special = *specials[i];
      if (onlyOfBlock && special.changes != SpecialRegister::Changes::ByBlock) continue;
      const SpecialSlot& at = function->specials[i];
      if (at.bits == 1) {
        predicates[at.slot] = special.read(warp, 0) ? kAllLanes : 0;
      } else if (at.bits == 64) {
        fillLanes<uint64_t>(registers + at.slot, special, warp);
      } else {
        fillLanes<uint32_t>(registers + at.slot, special, warp);
      }
    }
  }
};

FramePool::FramePool() = default;
FramePool::FramePool(FramePool&&) noexcept = default;
FramePool::~FramePool() = default;

Frame* FramePool::take(const Op& op, Warp& warp, uint32_t function, Frame* caller,
                       uint32_t lanes) {
  const Block& block = *warp.block;
  const FunctionCode& code = block.launch->program->functions[function];
  uint32_t localOffset = 0;
  if (caller) {
    localOffset = caller->localOffset + caller->function->localBytes + kReturnAddress;
    if (localOffset + code.localBytes > block.stackBytes) {
      fault(op, warp, kHardwareStackError,
            "stack overflow: a call of " + code.name + " at depth " +
                std::to_string(caller->depth + 1) + " needs " +
                std::to_string(localOffset + code.localBytes) + " bytes of " +
                std::to_string(block.stackBytes),
            0, __builtin_ctz(lanes));
    }
  }
  Kept* frame = nullptr;
  for (const auto& kept : all_) {
    if (!kept->taken && kept->function == &code) {
      frame = kept.get();
      break;
    }
  }
  if (!frame) frame = all_.emplace_back(std::make_unique<Kept>(code)).get();
  if (block.launch->options.adversarialSeed) {
    std::memset(frame->registers, 0xff, frame->bytes);
    poisonLocal(warp, code, localOffset, lanes);
    frame->filled = false;
  }
  if (!frame->filled || frame->localOffset != localOffset) {
    frame->localOffset = localOffset;
    fillConstants(*frame, warp);
  }
  if (!frame->filled || frame->block != block.serial) {
    frame->fillSpecials(warp, frame->filled);
    frame->block = block.serial;
  }
  frame->filled = frame->taken = true;
  frame->caller = caller;
  frame->depth = caller ? caller->depth + 1 : 0;
  frame->lanes = lanes;
  return frame;
}

Frame* FramePool::join(Warp& warp, uint32_t function, Frame* caller, uint32_t returnTo,
                       uint32_t lanes) {
  const FunctionCode& code = warp.block->launch->program->functions[function];
  for (const auto& kept : all_) {
    if (!kept->taken || kept->function != &code || kept->caller != caller ||
        kept->returnTo != returnTo) {
      continue;
    }
    poisonLocal(warp, code, kept->localOffset, lanes);
    kept->lanes |= lanes;
    return kept.get();
  }
  return nullptr;
}

void FramePool::release(Frame* frame) { static_cast<Kept*>(frame)->taken = false; }

void FramePool::releaseAll() {
  for (const auto& kept : all_) kept->taken = false;
}

void leaveFrames(Warp& warp, Frame* frame, uint32_t lanes) {
  while (frame) {
    Frame* caller = frame->caller;
    frame->lanes &= ~lanes;
    if (!frame->lanes) warp.frames.release(frame);
    frame = caller;
  }
}

}  // namespace sgpu
