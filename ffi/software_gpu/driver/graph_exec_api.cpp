#include "capture.h"
#include "copy.h"
#include "entry.h"
#include "event.h"
#include "graph_exec.h"
#include "host_call.h"

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
  auto made = std::make_shared<GraphExec>(*graphs().get(asNumber(graph)), flags);
  *exec = asHandle<CUgraphExec>(graphExecs().add(made));
}

/// Replaces what one step does by something of the same type.
template <class T>
void replace(CUgraphExec handle, CUgraphNode node, std::shared_ptr<const T> operation) {
  execOf(handle)->change(asNumber(node), [&](GraphRun::Step& step) {
    auto* before = dynamic_cast<const T*>(step.operation.get());
    require(before);
    if constexpr (std::is_same_v<T, KernelLaunch>) {
      require(before->function->context == operation->function->context);
    }
    step.operation = std::move(operation);
  });
}

void update(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResult& result, CUgraphNode& at) {
  auto exec = execOf(handle);
  std::unique_lock lock(graphMutex());
  const GraphRun fresh(*graphs().get(asNumber(graph)));
  lock.unlock();
  uint64_t node = 0;
  result = exec->update(fresh, node);
  at = asHandle<CUgraphNode>(node);
  require(result == CU_GRAPH_EXEC_UPDATE_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
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
      [&](Context& context) { execOf(exec)->launch(*streamOf(stream, context)); });
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
    execOf(handle)->change(asNumber(node), [&](GraphRun::Step& step) {
      const CUgraphNodeType type = step.operation->type();
      require(type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
              type == CU_GRAPH_NODE_TYPE_MEMSET);
      step.isEnabled = enabled != 0;
    });
  });
}
