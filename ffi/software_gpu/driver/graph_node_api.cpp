/// Nodes of graphs, and what they do.
#include <algorithm>

#include "copy.h"
#include "entry.h"
#include "event.h"
#include "graph.h"
#include "graph_exec.h"
#include "host_call.h"
#include "launch.h"

using namespace sgpu;

namespace {

std::shared_ptr<Graph> graphOf(CUgraph handle) { return graphs().get(asNumber(handle)); }
std::shared_ptr<GraphNode> nodeOf(CUgraphNode handle) { return graphNodes().get(asNumber(handle)); }

/// Adds a node under the graphs' mutex, once everything about it has been checked.
void add(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count,
         std::shared_ptr<const Operation> operation) {
  require(node);
  std::lock_guard lock(graphMutex());
  auto graph = graphOf(handle);
  std::vector<GraphNode*> before;
  for (const auto& one : nodesOf(*graph, dependencies, count)) before.push_back(one.get());
  *node = asHandle<CUgraphNode>(graph->add(std::move(operation), before)->handle);
}

template <class T>
const T& operationOf(const GraphNode& node) {
  auto* operation = dynamic_cast<const T*>(node.operation.get());
  require(operation);
  return *operation;
}

/// Replaces a node's operation by one of the same type.
template <class T>
void replace(CUgraphNode handle, std::shared_ptr<const T> operation) {
  std::lock_guard lock(graphMutex());
  auto node = nodeOf(handle);
  operationOf<T>(*node);
  node->operation = std::move(operation);
}

std::shared_ptr<const Fill> fillOf(const CUDA_MEMSET_NODE_PARAMS* params) {
  require(params && params->height != 0);
  require(params->width < uint64_t(1) << 46 && params->height < uint64_t(1) << 46);
  const Box to{params->dst, params->height > 1 ? params->pitch : 0, 0, Side::Device};
  require(params->height == 1 || params->pitch >= params->width * params->elementSize);
  return std::make_shared<Fill>(to, Extent{params->width * params->elementSize, params->height},
                                params->value, params->elementSize);
}

std::shared_ptr<const HostCall> hostCallOf(const CUDA_HOST_NODE_PARAMS* params) {
  require(params && params->fn);
  return std::make_shared<HostCall>(params->fn, params->userData);
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                                  const CUgraphNode* dependencies, size_t count,
                                                  const CUDA_KERNEL_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context&) { add(node, graph, dependencies, count, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context&) { add(node, graph, dependencies, count, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               const CUDA_MEMCPY3D* params, CUcontext context) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    contextOf(context);
    add(node, graph, dependencies, count, copyOf(*params));
  });
}

SOFTWARE_GPU_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               const CUDA_MEMSET_NODE_PARAMS* params,
                                               CUcontext context) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    contextOf(context);
    add(node, graph, dependencies, count, fillOf(params));
  });
}

SOFTWARE_GPU_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count) {
  static Entry entry(__func__);
  return entry.withDriver(
      [&] { add(node, graph, dependencies, count, std::make_shared<Nothing>()); });
}

SOFTWARE_GPU_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* dependencies, size_t count,
                                             const CUDA_HOST_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { add(node, graph, dependencies, count, hostCallOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                                    const CUgraphNode* dependencies, size_t count,
                                                    CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    add(node, graph, dependencies, count, std::make_shared<RecordInGraph>(eventOf(event)));
  });
}

SOFTWARE_GPU_API CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                                  const CUgraphNode* dependencies, size_t count,
                                                  CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    add(node, graph, dependencies, count, std::make_shared<WaitInGraph>(eventOf(event)));
  });
}

SOFTWARE_GPU_API CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                                   const CUgraphNode* dependencies, size_t count,
                                                   CUgraph child) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    std::shared_ptr<const Operation> operation;
    {
      std::lock_guard lock(graphMutex());
      require(child != graph);
      operation = std::make_shared<GraphRun>(*graphOf(child));
    }
    add(node, graph, dependencies, count, std::move(operation));
  });
}

SOFTWARE_GPU_API CUresult cuGraphDestroyNode(CUgraphNode handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    std::lock_guard lock(graphMutex());
    auto node = graphNodes().remove(asNumber(handle));
    for (const auto& other : node->graph->nodes) {
      auto& before = other->dependencies;
      before.erase(std::remove(before.begin(), before.end(), node.get()), before.end());
    }
    auto& nodes = node->graph->nodes;
    nodes.erase(std::remove(nodes.begin(), nodes.end(), node), nodes.end());
  });
}

// What nodes do

SOFTWARE_GPU_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(type);
    std::lock_guard lock(graphMutex());
    *type = nodeOf(node)->operation->type();
  });
}

SOFTWARE_GPU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                        CUDA_KERNEL_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    std::lock_guard lock(graphMutex());
    *params = CUDA_KERNEL_NODE_PARAMS{};
    describe(operationOf<KernelLaunch>(*nodeOf(node)), *params);
  });
}

SOFTWARE_GPU_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                                     CUDA_KERNEL_NODE_PARAMS_v1* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    std::lock_guard lock(graphMutex());
    describe(operationOf<KernelLaunch>(*nodeOf(node)), *params);
  });
}

SOFTWARE_GPU_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                        const CUDA_KERNEL_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { replace<KernelLaunch>(node, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                                     const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { replace<KernelLaunch>(node, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    std::lock_guard lock(graphMutex());
    *params = describe(operationOf<Copy>(*nodeOf(node)));
  });
}

SOFTWARE_GPU_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node,
                                                     const CUDA_MEMCPY3D* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    replace<Copy>(node, copyOf(*params));
  });
}

SOFTWARE_GPU_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node,
                                                     CUDA_MEMSET_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    std::lock_guard lock(graphMutex());
    const Fill& fill = operationOf<Fill>(*nodeOf(node));
    *params = {fill.to.begin,     fill.to.pitch, fill.value,
               fill.elementBytes, fill.extent.width / fill.elementBytes, fill.extent.height};
  });
}

SOFTWARE_GPU_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                                     const CUDA_MEMSET_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { replace<Fill>(node, fillOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphHostNodeGetParams(CUgraphNode node,
                                                   CUDA_HOST_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    std::lock_guard lock(graphMutex());
    const HostCall& call = operationOf<HostCall>(*nodeOf(node));
    *params = {call.function, call.data};
  });
}

SOFTWARE_GPU_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(event);
    std::lock_guard lock(graphMutex());
    *event = asHandle<CUevent>(operationOf<RecordInGraph>(*nodeOf(node)).event->handle);
  });
}

SOFTWARE_GPU_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(event);
    std::lock_guard lock(graphMutex());
    *event = asHandle<CUevent>(operationOf<WaitInGraph>(*nodeOf(node)).event->handle);
  });
}
