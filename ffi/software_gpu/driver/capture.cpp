#include "capture.h"

#include <algorithm>
#include <utility>

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

[[noreturn]] void invalidate(Capture& capture, int code) {
  capture.isValid = false;
  fail(code);
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

}  // namespace

Capture::Capture(const Stream& origin, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
                 bool ownsGraph)
    : id(++ids), origin(&origin), mode(mode), thread(std::this_thread::get_id()),
      graph(std::move(graph)), ownsGraph(ownsGraph) {}

void Capture::join(Stream& stream) {
  tips.try_emplace(&stream, stream.shared_from_this(), Nodes{});
}

CUstreamCaptureMode& captureMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

Capture* captureOf(const Stream& stream) {
  if (!stream.capture) return nullptr;
  require(stream.capture->isValid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  return stream.capture.get();
}

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

void beginCapture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
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

std::shared_ptr<Graph> endCapture(Stream& origin) {
  auto capture = origin.capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  require(capture->origin == &origin, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    require(capture->thread == std::this_thread::get_id(), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }
  const int failure = !capture->isValid             ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : !isJoined(*capture, origin) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                                    : CUDA_SUCCESS;
  end(capture);
  if (failure) {
    if (capture->ownsGraph) destroyGraph(capture->graph);
    fail(failure);
  }
  return capture->graph;
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
  if (captureMode() == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  std::lock_guard lock(graphMutex());
  for (const auto& capture : active()) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool forbids = own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                             : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                   captureMode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
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
