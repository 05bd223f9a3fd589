#include "graph_exec.h"

#include <algorithm>
#include <cstring>

#include "capture.h"
#include "copy.h"
#include "entry.h"
#include "event.h"
#include "host_call.h"
#include "options.h"

namespace sgpu {
namespace {

template <class Params>
std::shared_ptr<const KernelLaunch> launchFrom(const Params& params) {
  const Dimensions dimensions{{params.gridDimX, params.gridDimY, params.gridDimZ},
                              {params.blockDimX, params.blockDimY, params.blockDimZ},
                              params.sharedMemBytes,
                              false};
  return std::make_shared<KernelLaunch>(functionOf(params.func), dimensions, params.kernelParams,
                                        params.extra);
}

}  // namespace

Handles<GraphExec>& graphExecs() {
  static Handles<GraphExec>& all = *new Handles<GraphExec>(Kind::GraphExec);
  return all;
}

std::shared_ptr<const KernelLaunch> launchOf(const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  require(params);
  return launchFrom(*params);
}

std::shared_ptr<const KernelLaunch> launchOf(const CUDA_KERNEL_NODE_PARAMS* params) {
  require(params);
  if (params->func) return launchFrom(*params);
  CUDA_KERNEL_NODE_PARAMS ofKernel = *params;
  ofKernel.func = reinterpret_cast<CUfunction>(params->kern);
  return launchFrom(ofKernel);
}

namespace {

std::vector<GraphRun::Step> stepsOf(const Graph& graph) {
  // Adversarial: any order that the dependencies allow, so that a missing one shows.
  const std::vector<GraphNode*> ordered = graph.inOrder(options().adversarialSeed);
  std::vector<GraphRun::Step> steps;
  for (GraphNode* node : ordered) {
    GraphRun::Step step{node->handle, node->operation, {}, true};
    for (GraphNode* before : node->dependencies) {
      const auto at = std::find(ordered.begin(), ordered.end(), before);
      step.after.push_back(static_cast<size_t>(at - ordered.begin()));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

GraphRun::GraphRun(const Graph& graph) : steps(stepsOf(graph)) {}

void GraphRun::execute(Stream& stream) const {
  for (const Step& step : steps) {
    if (isPointless()) return;
    if (step.isEnabled) step.operation->execute(stream);
  }
}

}  // namespace sgpu

using namespace sgpu;

namespace {

std::shared_ptr<GraphExec> execOf(CUgraphExec handle) {
  return graphExecs().get(asNumber(handle));
}

void instantiate(CUgraphExec* exec, CUgraph graph, uint64_t flags) {
  constexpr uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                             CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                             CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  require(exec && (flags & ~known) == 0);
  std::lock_guard lock(graphMutex());
  auto made = std::make_shared<GraphExec>();
  auto source = graphs().get(asNumber(graph));
  made->context = source->context;
  made->run = std::make_shared<GraphRun>(*source);
  made->flags = flags;
  *exec = asHandle<CUgraphExec>(graphExecs().add(made));
}

/// Events that a launch records, and its marks of them.
using Records = std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Stamp>>>;

/// What runs in a launch: marks of this launch in place of the nodes that record events, whose last
/// record this becomes.
std::shared_ptr<const Operation> forLaunch(const std::shared_ptr<const GraphRun>& run,
                                           Records& records) {
  std::vector<GraphRun::Step> steps;
  for (size_t i = 0; i < run->steps.size(); i++) {
    std::shared_ptr<const Operation> replaced;
    const auto& operation = run->steps[i].operation;
    if (auto* record = dynamic_cast<const RecordInGraph*>(operation.get())) {
      if (!run->steps[i].isEnabled) continue;
      records.emplace_back(record->event, std::make_shared<Stamp>());
      replaced = std::make_shared<RecordEvent>(records.back().second);
    } else if (auto child = std::dynamic_pointer_cast<const GraphRun>(operation)) {
      replaced = forLaunch(child, records);
      if (replaced == operation) continue;
    } else {
      continue;
    }
    if (steps.empty()) steps = run->steps;
    steps[i].operation = std::move(replaced);
  }
  if (steps.empty()) return run;
  return std::make_shared<GraphRun>(std::move(steps));
}

void launch(GraphExec& exec, Stream& stream) {
  std::lock_guard lock(exec.mutex);
  if (stream.isCapturing.load(std::memory_order_acquire)) return submit(stream, exec.run);
  Records records;
  auto operation = forLaunch(exec.run, records);
  exec.last = stream.enqueue(std::move(operation), {exec.last});
  for (auto& [event, stamp] : records) {
    std::lock_guard eventLock(event->mutex);
    event->place = exec.last;
    event->place.inside = stamp;
    event->stamp = std::move(stamp);
    event->isCaptured = false;
  }
}

/// Replaces what one step does by something of the same type.
template <class T>
void replace(CUgraphExec handle, CUgraphNode node, std::shared_ptr<const T> operation) {
  auto exec = execOf(handle);
  std::lock_guard lock(exec->mutex);
  std::vector<GraphRun::Step> steps = exec->run->steps;
  auto step = std::find_if(steps.begin(), steps.end(),
                           [&](const auto& one) { return one.node == asNumber(node); });
  require(step != steps.end());
  auto* before = dynamic_cast<const T*>(step->operation.get());
  require(before);
  if constexpr (std::is_same_v<T, KernelLaunch>) {
    require(before->function->context == operation->function->context);
  }
  step->operation = std::move(operation);
  exec->run = std::make_shared<GraphRun>(std::move(steps));
}

CUgraphExecUpdateResult compare(const GraphRun& old, const GraphRun& fresh, uint64_t& at) {
  if (old.steps.size() != fresh.steps.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < old.steps.size(); i++) {
    at = fresh.steps[i].node;
    const Operation* before = old.steps[i].operation.get();
    const Operation* after = fresh.steps[i].operation.get();
    if (before->type() != after->type()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (old.steps[i].after != fresh.steps[i].after) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    auto* kernelBefore = dynamic_cast<const KernelLaunch*>(before);
    auto* kernelAfter = dynamic_cast<const KernelLaunch*>(after);
    if (kernelBefore && kernelBefore->function->context != kernelAfter->function->context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED;
    }
    auto* copyBefore = dynamic_cast<const Copy*>(before);
    auto* copyAfter = dynamic_cast<const Copy*>(after);
    if (copyBefore && (copyBefore->to.side != copyAfter->to.side ||
                       copyBefore->from.side != copyAfter->from.side)) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    auto* childBefore = dynamic_cast<const GraphRun*>(before);
    if (childBefore) {
      uint64_t inside = 0;
      const auto result = compare(*childBefore, dynamic_cast<const GraphRun&>(*after), inside);
      if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
    }
  }
  at = 0;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

void update(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResult& result, CUgraphNode& at) {
  auto exec = execOf(handle);
  std::shared_ptr<const GraphRun> fresh;
  {
    std::lock_guard lock(graphMutex());
    fresh = std::make_shared<GraphRun>(*graphs().get(asNumber(graph)));
  }
  std::lock_guard lock(exec->mutex);
  uint64_t node = 0;
  result = compare(*exec->run, *fresh, node);
  at = asHandle<CUgraphNode>(node);
  require(result == CU_GRAPH_EXEC_UPDATE_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  // Nodes of the graph that it was instantiated from still name the steps.
  std::vector<GraphRun::Step> steps = exec->run->steps;
  for (size_t i = 0; i < steps.size(); i++) steps[i].operation = fresh->steps[i].operation;
  exec->run = std::make_shared<GraphRun>(std::move(steps));
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                      unsigned long long flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] { instantiate(exec, graph, flags); });
}

SOFTWARE_GPU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                       CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    params->hErrNode_out = nullptr;
    params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    instantiate(exec, graph, params->flags);
    params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  });
}

SOFTWARE_GPU_API CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                                                CUgraphNode* errorNode, char* log,
                                                size_t logBytes) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    if (errorNode) *errorNode = nullptr;
    if (log && logBytes) *log = 0;
    instantiate(exec, graph, 0);
  });
}

SOFTWARE_GPU_API CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                                             CUgraphNode* errorNode, char* log, size_t logBytes) {
  return cuGraphInstantiate_v2(exec, graph, errorNode, log, logBytes);
}

SOFTWARE_GPU_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  static Entry entry(__func__);
  return entry.withDriver([&] { graphExecs().remove(asNumber(exec)); });
}

SOFTWARE_GPU_API CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(flags);
    *flags = execOf(exec)->flags;
  });
}

SOFTWARE_GPU_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    execOf(exec);
    refuseCaptured(*streamOf(stream, context));
  });
}

SOFTWARE_GPU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { launch(*execOf(exec), *streamOf(stream, context)); });
}

SOFTWARE_GPU_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                               CUgraphExecUpdateResultInfo* info) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(info);
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    update(exec, graph, info->result, info->errorNode);
  });
}

SOFTWARE_GPU_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* errorNode,
                                            CUgraphExecUpdateResult* result) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(errorNode && result);
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    *errorNode = nullptr;
    update(exec, graph, *result, *errorNode);
  });
}

SOFTWARE_GPU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                            const CUDA_KERNEL_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { replace<KernelLaunch>(exec, node, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] { replace<KernelLaunch>(exec, node, launchOf(params)); });
}

SOFTWARE_GPU_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_MEMCPY3D* params, CUcontext) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params);
    replace<Copy>(exec, node, copyOf(*params));
  });
}

SOFTWARE_GPU_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_HOST_NODE_PARAMS* params) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(params && params->fn);
    replace<HostCall>(exec, node, std::make_shared<const HostCall>(params->fn, params->userData));
  });
}

SOFTWARE_GPU_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                             CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    replace<RecordInGraph>(exec, node, std::make_shared<const RecordInGraph>(eventOf(event)));
  });
}

SOFTWARE_GPU_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                           CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    replace<WaitInGraph>(exec, node, std::make_shared<const WaitInGraph>(eventOf(event)));
  });
}

SOFTWARE_GPU_API CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node,
                                                unsigned enabled) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto exec = execOf(handle);
    std::lock_guard lock(exec->mutex);
    std::vector<GraphRun::Step> steps = exec->run->steps;
    auto step = std::find_if(steps.begin(), steps.end(),
                             [&](const auto& one) { return one.node == asNumber(node); });
    require(step != steps.end());
    const CUgraphNodeType type = step->operation->type();
    require(type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
            type == CU_GRAPH_NODE_TYPE_MEMSET);
    step->isEnabled = enabled != 0;
    exec->run = std::make_shared<GraphRun>(std::move(steps));
  });
}
