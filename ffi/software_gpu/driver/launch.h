/// Launches: what `cuLaunchKernel` was given, checked and copied.
#pragma once

#include "../execute/launch.h"
#include "module.h"
#include "stream.h"

namespace sgpu {

struct Dimensions {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes = 0;
  bool cooperative = false;
};

class KernelLaunch : public Operation {
 public:
  /// Copies the arguments.
  /// @throws Failure 1, 701 or 720 when the launch goes over a limit or lacks arguments
  KernelLaunch(std::shared_ptr<Function> function, const Dimensions& dimensions, void** params,
               void** extra);
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_KERNEL; }

  const std::shared_ptr<Function> function;
  const Launch& launch() const { return launch_; }
  /// Addresses of the copied arguments, as `kernelParams` has them.
  void** params() const;

 private:
  Launch launch_;
  mutable std::vector<void*> pointers_;
};

/// How many blocks of a kernel a multiprocessor holds at once.
/// @throws Failure 1
uint32_t blocksPerMultiprocessor(const Function& function, uint64_t threads,
                                 uint64_t dynamicShared);

}  // namespace sgpu
