/// Graphs: operations and what each comes behind.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "stream.h"

namespace sgpu {

struct Graph;

struct GraphNode {
  uint64_t handle = 0;
  Graph* graph = nullptr;
  std::shared_ptr<const Operation> operation;
  std::vector<GraphNode*> dependencies;        ///< in the order given
  uint64_t original = 0;                       ///< of a node in a clone: what it is a copy of
};

struct Graph {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;               ///< that it goes with, if any was current
  std::vector<std::shared_ptr<GraphNode>> nodes;  ///< in order of creation

  /// @throws Failure 1 when a dependency is of another graph, or given twice
  std::shared_ptr<GraphNode> add(std::shared_ptr<const Operation> operation,
                                 const std::vector<GraphNode*>& dependencies);
  size_t indexOf(const GraphNode* node) const;
  /// Every node behind its dependencies; among those that may come next the first to be created, or
  /// with a seed any.
  /// @throws Failure 1 when they form a circle
  std::vector<GraphNode*> inOrder(uint64_t seed = 0) const;
};

/// Guards the structure of all graphs, and captures, which grow them.
std::mutex& graphMutex();
Handles<Graph>& graphs();
Handles<GraphNode>& graphNodes();

// All below `graphMutex()`.

std::shared_ptr<Graph> makeGraph();
/// Its handle and those of its nodes are void.
void destroyGraph(const std::shared_ptr<Graph>& graph);
/// All that were made while the context was current. Takes `graphMutex()` itself.
void destroyGraphsOf(const Context& context);
/// @throws Failure 400 for what is no node, 1 for one of another graph
std::vector<std::shared_ptr<GraphNode>> nodesOf(const Graph& graph, const CUgraphNode* handles,
                                                size_t count);

}  // namespace sgpu
