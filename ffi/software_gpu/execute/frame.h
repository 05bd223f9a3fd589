/// The registers of one activation of a function.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../compile/program.h"

namespace sgpu {

struct Warp;

/// Lanes that are in the same call of the same frame share one, though some came later: all can meet
/// in it.
struct Frame {
  const FunctionCode* function = nullptr;
  Frame* caller = nullptr;
  uint32_t returnTo = 0;       ///< op in the caller
  uint32_t callSite = 0;
  uint32_t depth = 0;
  uint32_t lanes = 0;          ///< that have not returned yet
  uint8_t* registers = nullptr;
  uint32_t* predicates = nullptr;
  uint32_t localOffset = 0;    ///< of this activation in each lane's local memory
};

/// Frames of one warp, kept by function: one that is used again has its constants already.
class FramePool {
 public:
  FramePool();
  FramePool(FramePool&&) noexcept;
  ~FramePool();

  /// A frame whose constants and special registers are in place.
  /// @throws Fault 714 when a lane's stack has no room for its local memory
  Frame* take(const Op& op, Warp& warp, uint32_t function, Frame* caller, uint32_t lanes);
  /// The frame of lanes that made this call before and are still in it: these lanes are now, too.
  /// @returns nullptr when there is none
  Frame* join(Warp& warp, uint32_t function, Frame* caller, uint32_t returnTo, uint32_t lanes);
  void release(Frame* frame);
  /// All frames come back: a block has ended or begins.
  void releaseAll();

 private:
  struct Kept;
  std::vector<std::unique_ptr<Kept>> all_;
};

/// Lanes leave a frame and those that called it: they have exited.
void leaveFrames(Warp& warp, Frame* frame, uint32_t lanes);

}  // namespace sgpu
