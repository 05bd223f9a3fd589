#include "graph_exec.h"

#include <algorithm>

#include "capture.h"
#include "copy.h"
#include "entry.h"
#include "event.h"
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

namespace {

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

}  // namespace

GraphExec::GraphExec(const Graph& graph, uint64_t flags)
    : context(graph.context), flags(flags), run_(std::make_shared<GraphRun>(graph)) {}

void GraphExec::launch(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (stream.isCapturing.load(std::memory_order_acquire)) return submit(stream, run_);
  Records records;
  auto operation = forLaunch(run_, records);
  last_ = stream.enqueue(std::move(operation), {last_});
  for (auto& [event, stamp] : records) {
    std::lock_guard eventLock(event->mutex);
    event->place = last_;
    event->place.inside = stamp;
    event->stamp = std::move(stamp);
    event->isCaptured = false;
  }
}

void GraphExec::change(uint64_t node, const std::function<void(GraphRun::Step&)>& how) {
  std::lock_guard lock(mutex_);
  std::vector<GraphRun::Step> steps = run_->steps;
  auto step = std::find_if(steps.begin(), steps.end(),
                           [&](const auto& one) { return one.node == node; });
  require(step != steps.end());
  how(*step);
  run_ = std::make_shared<GraphRun>(std::move(steps));
}

CUgraphExecUpdateResult GraphExec::update(const GraphRun& fresh, uint64_t& at) {
  std::lock_guard lock(mutex_);
  const CUgraphExecUpdateResult result = compare(*run_, fresh, at);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  // Nodes of the graph that it was instantiated from still name the steps.
  std::vector<GraphRun::Step> steps = run_->steps;
  for (size_t i = 0; i < steps.size(); i++) steps[i].operation = fresh.steps[i].operation;
  run_ = std::make_shared<GraphRun>(std::move(steps));
  return result;
}

}  // namespace sgpu
