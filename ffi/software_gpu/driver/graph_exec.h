/// Executable graphs: a graph's operations in an order that can be run again and again.
#pragma once

#include <functional>

#include "graph.h"
#include "launch.h"

namespace sgpu {

/// The operations of a graph, done one after the other. As a node, the graph is a child.
class GraphRun : public Operation {
 public:
  struct Step {
    uint64_t node;  ///< handle of what it was made from
    std::shared_ptr<const Operation> operation;
    std::vector<size_t> after;  ///< indices of steps, for comparison
    bool isEnabled = true;
  };

  /// Under the graphs' mutex.
  /// @throws Failure 1 when the dependencies form a circle
  explicit GraphRun(const Graph& graph);
  explicit GraphRun(std::vector<Step> steps) : steps(std::move(steps)) {}
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_GRAPH; }

  const std::vector<Step> steps;
};

class GraphExec {
 public:
  /// Under the graphs' mutex.
  /// @throws Failure 1 when the dependencies form a circle
  GraphExec(const Graph& graph, uint64_t flags);

  uint64_t handle = 0;
  const std::shared_ptr<Context> context;  ///< the graph's
  const uint64_t flags;

  /// Runs behind the launch before; what is set later does not touch it.
  void launch(Stream& stream);
  /// Changes the step that was made from a node.
  /// @throws Failure 1 when there is none
  void change(uint64_t node, const std::function<void(GraphRun::Step&)>& how);
  /// Does what another graph does, if the two differ in nothing else.
  /// @param at The other's node that differs
  CUgraphExecUpdateResult update(const GraphRun& fresh, uint64_t& at);

 private:
  std::mutex mutex_;
  std::shared_ptr<const GraphRun> run_;  ///< replaced when something is set: launches keep theirs
  Place last_;
};

Handles<GraphExec>& graphExecs();

/// A launch from a node's parameters, of either form.
std::shared_ptr<const KernelLaunch> launchOf(const CUDA_KERNEL_NODE_PARAMS* params);
std::shared_ptr<const KernelLaunch> launchOf(const CUDA_KERNEL_NODE_PARAMS_v1* params);

template <class Params>
void describe(const KernelLaunch& kernel, Params& params) {
  const Launch& launch = kernel.launch();
  params.func = asHandle<CUfunction>(kernel.function->handle);
  params.gridDimX = launch.grid[0];
  params.gridDimY = launch.grid[1];
  params.gridDimZ = launch.grid[2];
  params.blockDimX = launch.block[0];
  params.blockDimY = launch.block[1];
  params.blockDimZ = launch.block[2];
  params.sharedMemBytes = launch.dynamicShared;
  params.kernelParams = kernel.params();
  params.extra = nullptr;
}

}  // namespace sgpu
