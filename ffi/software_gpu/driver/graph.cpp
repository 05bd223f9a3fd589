#include "graph.h"

#include <algorithm>
#include <random>

#include "entry.h"

namespace sgpu {

std::mutex& graphMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

Handles<Graph>& graphs() {
  static Handles<Graph>& all = *new Handles<Graph>(Kind::Graph);
  return all;
}

Handles<GraphNode>& graphNodes() {
  static Handles<GraphNode>& all = *new Handles<GraphNode>(Kind::GraphNode);
  return all;
}

std::shared_ptr<Graph> makeGraph() {
  auto graph = std::make_shared<Graph>();
  if (!contextStack().empty()) graph->context = contextStack().back();
  graphs().add(graph);
  return graph;
}

void destroyGraph(const std::shared_ptr<Graph>& graph) {
  graphs().remove(graph->handle);
  for (const auto& node : graph->nodes) graphNodes().remove(node->handle);
}

void destroyGraphsOf(const Context& context) {
  std::lock_guard lock(graphMutex());
  for (const auto& graph : graphs().removeIf([&](const Graph& one) {
         return one.context.get() == &context;
       })) {
    for (const auto& node : graph->nodes) graphNodes().remove(node->handle);
  }
}

std::shared_ptr<GraphNode> Graph::add(std::shared_ptr<const Operation> operation,
                                      const std::vector<GraphNode*>& dependencies) {
  for (size_t i = 0; i < dependencies.size(); i++) {
    require(dependencies[i]->graph == this);
    require(std::find(dependencies.begin(), dependencies.begin() + static_cast<ptrdiff_t>(i),
                      dependencies[i]) == dependencies.begin() + static_cast<ptrdiff_t>(i));
  }
  auto node = std::make_shared<GraphNode>();
  node->graph = this;
  node->operation = std::move(operation);
  node->dependencies = dependencies;
  graphNodes().add(node);
  nodes.push_back(node);
  return node;
}

size_t Graph::indexOf(const GraphNode* node) const {
  return static_cast<size_t>(std::find_if(nodes.begin(), nodes.end(),
                                          [&](const auto& one) { return one.get() == node; }) -
                             nodes.begin());
}

std::vector<GraphNode*> Graph::inOrder(uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::vector<GraphNode*> waiting, ordered;
  for (const auto& node : nodes) waiting.push_back(node.get());
  if (seed) std::shuffle(waiting.begin(), waiting.end(), random);
  auto isOrdered = [&](GraphNode* node) {
    return std::find(ordered.begin(), ordered.end(), node) != ordered.end();
  };
  while (!waiting.empty()) {
    auto next = std::find_if(waiting.begin(), waiting.end(), [&](GraphNode* node) {
      return std::all_of(node->dependencies.begin(), node->dependencies.end(), isOrdered);
    });
    require(next != waiting.end());
    ordered.push_back(*next);
    waiting.erase(next);
  }
  return ordered;
}

std::vector<std::shared_ptr<GraphNode>> nodesOf(const Graph& graph, const CUgraphNode* handles,
                                                size_t count) {
  require(count == 0 || handles);
  std::vector<std::shared_ptr<GraphNode>> nodes;
  for (size_t i = 0; i < count; i++) {
    nodes.push_back(graphNodes().get(asNumber(handles[i])));
    require(nodes.back()->graph == &graph);
  }
  return nodes;
}

}  // namespace sgpu
