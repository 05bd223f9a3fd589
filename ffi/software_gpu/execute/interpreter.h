/// Runs the paths of one warp.
#pragma once

#include <cstdint>

namespace sgpu {

struct Warp;

enum class Progress : uint8_t {
  Ended,      ///< no lane lives
  Waits,      ///< all paths wait at barriers or for other lanes
  SliceOver,
};

/// Places a warp at the beginning of the launch's kernel.
void enterKernel(Warp& warp, uint32_t alive);

/// Runs a warp until it ends, waits, or has run so many instructions.
/// @throws Fault
Progress runWarp(Warp& warp, uint64_t instructions);

/// Whether any path could run.
bool canRun(const Warp& warp);

}  // namespace sgpu
