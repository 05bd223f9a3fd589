/// Graphs as structures: making and copying them, what comes behind what.
#include <algorithm>
#include <utility>

#include "entry.h"
#include "graph.h"

using namespace sgpu;

namespace {

std::shared_ptr<Graph> graphOf(CUgraph handle) { return graphs().get(asNumber(handle)); }
std::shared_ptr<GraphNode> nodeOf(CUgraphNode handle) { return graphNodes().get(asNumber(handle)); }

/// Fills a list whose length the caller gave, or tells the length when there is no list.
template <class Each>
void list(size_t available, size_t* count, bool wanted, Each put) {
  require(count);
  if (wanted) {
    const size_t given = *count;
    for (size_t i = 0; i < given; i++) put(i, i < available);
    *count = std::min(given, available);
  } else {
    *count = available;
  }
}

/// Under the mutex: a graph of the same shape, whose nodes share the operations.
std::shared_ptr<Graph> cloneOf(const Graph& graph) {
  auto clone = makeGraph();
  for (const auto& node : graph.nodes) clone->add(node->operation, {})->original = node->handle;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    for (GraphNode* before : graph.nodes[i]->dependencies) {
      clone->nodes[i]->dependencies.push_back(clone->nodes[graph.indexOf(before)].get());
    }
  }
  return clone;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(graph && flags == 0);
    std::lock_guard lock(graphMutex());
    *graph = asHandle<CUgraph>(makeGraph()->handle);
  });
}

SOFTWARE_GPU_API CUresult cuGraphDestroy(CUgraph graph) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    std::lock_guard lock(graphMutex());
    destroyGraph(graphOf(graph));
  });
}

SOFTWARE_GPU_API CUresult cuGraphClone(CUgraph* clone, CUgraph graph) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(clone);
    std::lock_guard lock(graphMutex());
    *clone = asHandle<CUgraph>(cloneOf(*graphOf(graph))->handle);
  });
}

SOFTWARE_GPU_API CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original,
                                                 CUgraph clone) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(node);
    std::lock_guard lock(graphMutex());
    const auto graph = graphOf(clone);
    auto found = std::find_if(graph->nodes.begin(), graph->nodes.end(), [&](const auto& one) {
      return one->original == asNumber(original);
    });
    require(found != graph->nodes.end());
    *node = asHandle<CUgraphNode>((*found)->handle);
  });
}

SOFTWARE_GPU_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    std::lock_guard lock(graphMutex());
    auto graph = graphOf(handle);
    list(graph->nodes.size(), count, nodes != nullptr, [&](size_t i, bool exists) {
      nodes[i] = asHandle<CUgraphNode>(exists ? graph->nodes[i]->handle : 0);
    });
  });
}

SOFTWARE_GPU_API CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    std::lock_guard lock(graphMutex());
    auto graph = graphOf(handle);
    std::vector<uint64_t> roots;
    for (const auto& node : graph->nodes) {
      if (node->dependencies.empty()) roots.push_back(node->handle);
    }
    list(roots.size(), count, nodes != nullptr, [&](size_t i, bool exists) {
      nodes[i] = asHandle<CUgraphNode>(exists ? roots[i] : 0);
    });
  });
}

namespace {

void tellEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  require((from == nullptr) == (to == nullptr));
  std::lock_guard lock(graphMutex());
  std::vector<std::pair<uint64_t, uint64_t>> edges;
  for (const auto& node : graphOf(handle)->nodes) {
    for (GraphNode* before : node->dependencies) edges.emplace_back(before->handle, node->handle);
  }
  list(edges.size(), count, from != nullptr, [&](size_t i, bool exists) {
    from[i] = asHandle<CUgraphNode>(exists ? edges[i].first : 0);
    to[i] = asHandle<CUgraphNode>(exists ? edges[i].second : 0);
  });
}

void tellDependencies(CUgraphNode handle, CUgraphNode* dependencies, size_t* count) {
  std::lock_guard lock(graphMutex());
  auto node = nodeOf(handle);
  list(node->dependencies.size(), count, dependencies != nullptr, [&](size_t i, bool exists) {
    dependencies[i] = asHandle<CUgraphNode>(exists ? node->dependencies[i]->handle : 0);
  });
}

void tellDependents(CUgraphNode handle, CUgraphNode* dependents, size_t* count) {
  std::lock_guard lock(graphMutex());
  auto node = nodeOf(handle);
  std::vector<uint64_t> all;
  for (const auto& other : node->graph->nodes) {
    const auto& before = other->dependencies;
    if (std::find(before.begin(), before.end(), node.get()) != before.end()) {
      all.push_back(other->handle);
    }
  }
  list(all.size(), count, dependents != nullptr, [&](size_t i, bool exists) {
    dependents[i] = asHandle<CUgraphNode>(exists ? all[i] : 0);
  });
}

/// All of them or, when one is wrong, none.
void changeDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                        size_t count, bool adds) {
  std::lock_guard lock(graphMutex());
  auto graph = graphOf(handle);
  const auto befores = nodesOf(*graph, from, count), afters = nodesOf(*graph, to, count);
  for (size_t i = 0; i < count; i++) {
    const auto& known = afters[i]->dependencies;
    const bool exists = std::find(known.begin(), known.end(), befores[i].get()) != known.end();
    require(exists != adds && befores[i] != afters[i]);
  }
  for (size_t i = 0; i < count; i++) {
    auto& known = afters[i]->dependencies;
    if (adds) {
      known.push_back(befores[i].get());
    } else {
      known.erase(std::find(known.begin(), known.end(), befores[i].get()));
    }
  }
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                          size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] { tellEdges(graph, from, to, count); });
}

SOFTWARE_GPU_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                             CUgraphEdgeData* data, size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    tellEdges(graph, from, to, count);
    if (data && from) std::fill_n(data, *count, CUgraphEdgeData{});
  });
}

SOFTWARE_GPU_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies,
                                                     size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] { tellDependencies(node, dependencies, count); });
}

SOFTWARE_GPU_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* dependencies,
                                                        CUgraphEdgeData* data, size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    tellDependencies(node, dependencies, count);
    if (data && dependencies) std::fill_n(data, *count, CUgraphEdgeData{});
  });
}

SOFTWARE_GPU_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents,
                                                       size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] { tellDependents(node, dependents, count); });
}

SOFTWARE_GPU_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* dependents,
                                                          CUgraphEdgeData* data, size_t* count) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    tellDependents(node, dependents, count);
    if (data && dependents) std::fill_n(data, *count, CUgraphEdgeData{});
  });
}

SOFTWARE_GPU_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                                 const CUgraphNode* to, size_t count) {
  static Entry entry(__func__);
  return entry.withDriver([&] { changeDependencies(graph, from, to, count, true); });
}

SOFTWARE_GPU_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                    const CUgraphNode* to, const CUgraphEdgeData*,
                                                    size_t count) {
  return cuGraphAddDependencies(graph, from, to, count);
}

SOFTWARE_GPU_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                                    const CUgraphNode* to, size_t count) {
  static Entry entry(__func__);
  return entry.withDriver([&] { changeDependencies(graph, from, to, count, false); });
}

SOFTWARE_GPU_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                       const CUgraphNode* to,
                                                       const CUgraphEdgeData*, size_t count) {
  return cuGraphRemoveDependencies(graph, from, to, count);
}
