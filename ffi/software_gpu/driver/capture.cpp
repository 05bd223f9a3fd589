#include "capture.h"

#include <algorithm>

#include "entry.h"

namespace sgpu {
namespace {

std::atomic<uint64_t> ids{0};
/// Captures that have begun and not ended; guarded by `graphMutex()`, its size also without.
std::vector<std::shared_ptr<Capture>>& active() {
  static auto& all = *new std::vector<std::shared_ptr<Capture>>;
  return all;
}
std::atomic<size_t> activeCount{0};

CUstreamCaptureMode& threadMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

[[noreturn]] void invalidate(Capture& capture, int code) {
  capture.isValid = false;
  fail(code);
}

/// The default stream would wait for the captured ones, which do nothing.
void refuseImplicit(const Stream& stream) {
  if (activeCount.load(std::memory_order_acquire) == 0) return;
  if (stream.context->startedDefaultStream().get() != &stream) return;
  std::lock_guard lock(graphMutex());
  for (const auto& capture : active()) {
    for (const auto& [other, tip] : capture->tips) {
      if (other->context == stream.context && (other->flags & CU_STREAM_NON_BLOCKING) == 0) {
        invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
      }
    }
  }
}

/// The stream's capture, if it takes part in one that is still good. Under `graphMutex()`.
Capture* captureOf(const Stream& stream) {
  if (!stream.capture) return nullptr;
  require(stream.capture->isValid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  return stream.capture.get();
}

std::vector<GraphNode*> raw(const Capture::Nodes& nodes) {
  std::vector<GraphNode*> all;
  for (const auto& node : nodes) all.push_back(node.get());
  return all;
}

void note(Capture& capture, Stream& stream, std::shared_ptr<const Operation> operation) {
  Capture::Nodes& tips = capture.tipsOf(stream);
  tips = {capture.graph->add(std::move(operation), raw(tips))};
}

void end(const std::shared_ptr<Capture>& capture) {
  for (auto& [raw, tip] : capture->tips) {
    tip.first->isCapturing.store(false, std::memory_order_release);
    tip.first->capture.reset();
  }
  capture->tips.clear();
  auto& all = active();
  all.erase(std::remove(all.begin(), all.end(), capture), all.end());
  activeCount.store(all.size(), std::memory_order_release);
}

}  // namespace

Capture::Capture(const Stream& origin, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
                 bool ownsGraph)
    : id(++ids), origin(&origin), mode(mode), thread(std::this_thread::get_id()),
      graph(std::move(graph)), ownsGraph(ownsGraph) {}

void Capture::join(Stream& stream) {
  tips.try_emplace(&stream, stream.shared_from_this(), Nodes{});
}

void submit(Stream& stream, std::shared_ptr<const Operation> operation) {
  if (stream.isCapturing.load(std::memory_order_acquire)) {
    std::lock_guard lock(graphMutex());
    if (Capture* capture = captureOf(stream)) return note(*capture, stream, std::move(operation));
  }
  refuseImplicit(stream);
  stream.enqueue(std::move(operation));
}

void submitRecord(const std::shared_ptr<Event>& event, Stream& stream, bool external) {
  if (stream.isCapturing.load(std::memory_order_acquire)) {
    std::lock_guard lock(graphMutex());
    if (Capture* capture = captureOf(stream)) {
      if (external) return note(*capture, stream, std::make_shared<RecordInGraph>(event));
      std::lock_guard eventLock(event->mutex);
      event->capture = stream.capture;
      event->isCaptured = true;
      event->captured = capture->tipsOf(stream);
      return;
    }
  }
  require(!external);  // outside of a capture there is no node to make of it
  refuseImplicit(stream);
  record(*event, stream);
}

void submitWait(const std::shared_ptr<Event>& event, Stream& stream, bool external) {
  std::unique_lock lock(graphMutex());
  Capture* capture = captureOf(stream);
  require(capture || !external);
  if (external) return note(*capture, stream, std::make_shared<WaitInGraph>(event));
  std::unique_lock eventLock(event->mutex);
  if (!event->isCaptured) {
    if (capture) {
      // What was never recorded is no dependency; what was, lies outside of the graph.
      if (event->stamp) invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
      return;
    }
    Place place = event->place;
    eventLock.unlock();
    lock.unlock();
    refuseImplicit(stream);
    if (!place.isDone()) stream.enqueue(std::make_shared<Nothing>(), {std::move(place)});
    return;
  }
  auto other = event->capture.lock();
  if (!other || other->tips.empty()) fail(CUDA_ERROR_CAPTURED_EVENT);
  if (capture && capture != other.get()) {
    other->isValid = false;
    invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (!capture) {
    require(&stream != stream.context->startedDefaultStream().get(),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(other->isValid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    other->join(stream);
    stream.capture = other;
    stream.isCapturing.store(true, std::memory_order_release);
  }
  Capture::Nodes& tips = other->tipsOf(stream);
  for (const auto& node : event->captured) {
    if (std::find(tips.begin(), tips.end(), node) == tips.end()) tips.push_back(node);
  }
}

void refuseWhileCapturing() {
  if (activeCount.load(std::memory_order_acquire) == 0) return;
  if (threadMode() == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  std::lock_guard lock(graphMutex());
  for (const auto& capture : active()) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool forbids = own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                             : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                   threadMode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (forbids) invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
}

void refuseCaptured(Stream& stream) {
  if (!stream.isCapturing.load(std::memory_order_acquire)) return refuseImplicit(stream);
  std::lock_guard lock(graphMutex());
  if (stream.capture) invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuseCaptured(Event& event) {
  std::lock_guard lock(event.mutex);
  require(!event.isCaptured, CUDA_ERROR_CAPTURED_EVENT);
}

void leaveCapture(Stream& stream) {
  std::lock_guard lock(graphMutex());
  auto capture = stream.capture;
  if (!capture) return;
  capture->isValid = false;
  if (capture->origin != &stream) return;
  end(capture);
  if (capture->ownsGraph) destroyGraph(capture->graph);
}

void forgetCaptures() {
  std::lock_guard lock(graphMutex());
  while (!active().empty()) end(active().back());
}

}  // namespace sgpu

using namespace sgpu;

namespace {

/// @param graph What is captured goes there; null for a new one
void begin(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
           Capture::Nodes tips) {
  require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
  require(&stream != stream.context->startedDefaultStream().get(),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  require(!stream.capture, CUDA_ERROR_ILLEGAL_STATE);
  const bool isNew = !graph;
  auto capture =
      std::make_shared<Capture>(stream, mode, isNew ? makeGraph() : std::move(graph), isNew);
  capture->join(stream);
  capture->tipsOf(stream) = std::move(tips);
  stream.capture = capture;
  stream.isCapturing.store(true, std::memory_order_release);
  active().push_back(std::move(capture));
  activeCount.store(active().size(), std::memory_order_release);
}

/// Whether everything that was captured leads to what the origin does last.
bool isJoined(Capture& capture, Stream& origin) {
  std::vector<GraphNode*> reached = raw(capture.tipsOf(origin));
  for (size_t i = 0; i < reached.size(); i++) {
    for (GraphNode* before : reached[i]->dependencies) {
      if (std::find(reached.begin(), reached.end(), before) == reached.end()) {
        reached.push_back(before);
      }
    }
  }
  for (const auto& [stream, tip] : capture.tips) {
    for (const auto& node : tip.second) {
      if (std::find(reached.begin(), reached.end(), node.get()) == reached.end()) return false;
    }
  }
  return true;
}

CUstreamCaptureStatus statusOf(const Stream& stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->isValid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                 : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

void tell(Stream& stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
          const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  require(status);
  refuseImplicit(stream);
  std::lock_guard lock(graphMutex());
  *status = statusOf(stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  Capture& capture = *stream.capture;
  capture.told.clear();
  for (const auto& node : capture.tipsOf(stream)) {
    capture.told.push_back(asHandle<CUgraphNode>(node->handle));
  }
  if (id) *id = capture.id;
  if (graph) *graph = asHandle<CUgraph>(capture.graph->handle);
  if (dependencies) *dependencies = capture.told.data();
  if (edges) *edges = nullptr;
  if (count) *count = capture.told.size();
}

}  // namespace

SOFTWARE_GPU_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    auto captured = streamOf(stream, context);
    std::lock_guard lock(graphMutex());
    begin(*captured, mode, nullptr, {});
  });
}

SOFTWARE_GPU_API CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SOFTWARE_GPU_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                      const CUgraphNode* dependencies,
                                                      const CUgraphEdgeData*, size_t count,
                                                      CUstreamCaptureMode mode) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    auto captured = streamOf(stream, context);
    std::lock_guard lock(graphMutex());
    auto target = graphs().get(asNumber(graph));
    begin(*captured, mode, target, nodesOf(*target, dependencies, count));
  });
}

SOFTWARE_GPU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(graph);
    *graph = nullptr;
    auto origin = streamOf(stream, context);
    std::lock_guard lock(graphMutex());
    auto capture = origin->capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    require(capture->origin == origin.get(), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
      require(capture->thread == std::this_thread::get_id(),
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }
    const int failure = !capture->isValid              ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                        : !isJoined(*capture, *origin) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                                       : CUDA_SUCCESS;
    end(capture);
    if (failure) {
      if (capture->ownsGraph) destroyGraph(capture->graph);
      fail(failure);
    }
    *graph = asHandle<CUgraph>(capture->graph->handle);
  });
}

SOFTWARE_GPU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    tell(*streamOf(stream, context), status, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                                 cuuint64_t* id) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    tell(*streamOf(stream, context), status, id, nullptr, nullptr, nullptr, nullptr);
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status,
                                                    cuuint64_t* id, CUgraph* graph,
                                                    const CUgraphNode** dependencies,
                                                    size_t* count) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    tell(*streamOf(stream, context), status, id, graph, dependencies, nullptr, count);
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status,
                                                    cuuint64_t* id, CUgraph* graph,
                                                    const CUgraphNode** dependencies,
                                                    const CUgraphEdgeData** edges, size_t* count) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    tell(*streamOf(stream, context), status, id, graph, dependencies, edges, count);
  });
}

SOFTWARE_GPU_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream,
                                                               CUgraphNode* dependencies,
                                                               const CUgraphEdgeData*, size_t count,
                                                               unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    auto captured = streamOf(stream, context);
    std::lock_guard lock(graphMutex());
    Capture* capture = captureOf(*captured);
    require(capture, CUDA_ERROR_ILLEGAL_STATE);
    Capture::Nodes given = nodesOf(*capture->graph, dependencies, count);
    Capture::Nodes& tips = capture->tipsOf(*captured);
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) tips.clear();
    for (auto& node : given) {
      if (std::find(tips.begin(), tips.end(), node) == tips.end()) tips.push_back(std::move(node));
    }
  });
}

SOFTWARE_GPU_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream,
                                                            CUgraphNode* dependencies, size_t count,
                                                            unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

SOFTWARE_GPU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(mode && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL &&
            *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    std::swap(threadMode(), *mode);
  });
}
