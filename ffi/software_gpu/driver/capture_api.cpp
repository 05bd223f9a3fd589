#include <algorithm>

#include "capture.h"
#include "entry.h"

using namespace sgpu;

namespace {

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
    beginCapture(*captured, mode, nullptr, {});
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
    beginCapture(*captured, mode, target, nodesOf(*target, dependencies, count));
  });
}

SOFTWARE_GPU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(graph);
    *graph = nullptr;
    auto origin = streamOf(stream, context);
    std::lock_guard lock(graphMutex());
    *graph = asHandle<CUgraph>(endCapture(*origin)->handle);
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
    std::swap(captureMode(), *mode);
  });
}
