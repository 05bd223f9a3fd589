/// Stream capture: what a stream is told to do becomes a graph instead of being done.
#pragma once

#include <thread>
#include <unordered_map>
#include <utility>

#include "event.h"
#include "graph.h"

namespace sgpu {

class Capture {
 public:
  using Nodes = std::vector<std::shared_ptr<GraphNode>>;

  Capture(const Stream& origin, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
          bool ownsGraph);

  const uint64_t id;
  const Stream* const origin;
  const CUstreamCaptureMode mode;
  const std::thread::id thread;  ///< that began it
  const std::shared_ptr<Graph> graph;
  const bool ownsGraph;          ///< was made for this capture
  bool isValid = true;
  /// The streams that take part, and what the next operation of each comes behind.
  std::unordered_map<Stream*, std::pair<std::shared_ptr<Stream>, Nodes>> tips;

  /// The tips of the stream that was last asked about, as the caller may read them.
  std::vector<CUgraphNode> told;

  Nodes& tipsOf(Stream& stream) { return tips.at(&stream).second; }
  void join(Stream& stream);
};

/// Begins to capture a stream. Under `graphMutex()`, as what follows up to `captureOf`.
/// @param graph What is captured goes there, behind `tips`; null for a new one
/// @throws Failure 401 when it is captured already, 900 for the default stream
void beginCapture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
                  Capture::Nodes tips);
/// Ends the capture that began here.
/// @throws Failure 401, 901, 903, 904, 908
std::shared_ptr<Graph> endCapture(Stream& origin);
/// The capture that a stream takes part in; null for none.
/// @throws Failure 901
Capture* captureOf(const Stream& stream);
/// How this thread gets on with captures; for `refuseWhileCapturing`.
CUstreamCaptureMode& captureMode();

/// Lets a stream do something, or its capture note it.
/// @throws Failure 901 when the capture is void, 906 when this waits for one implicitly
void submit(Stream& stream, std::shared_ptr<const Operation> operation);
/// @param external As a node of the graph that records the event whenever the graph runs
void submitRecord(const std::shared_ptr<Event>& event, Stream& stream, bool external);
/// @throws Failure also 902 and 905
void submitWait(const std::shared_ptr<Event>& event, Stream& stream, bool external);

/// For calls that could wait for a stream that is captured, or make memory known.
/// @throws Failure 900 when a capture's mode forbids them in this thread; the capture is void then
void refuseWhileCapturing();
/// For calls about the default stream, which would wait for captured ones, which do nothing.
/// @throws Failure 906; those captures are void then
void refuseImplicit(const Stream& stream);
/// For calls that wait for a stream. @throws Failure 900; its capture is void then
void refuseCaptured(Stream& stream);
/// For questions about an event. @throws Failure 907
void refuseCaptured(Event& event);
/// The stream is going: a capture that it takes part in is void, or over if it began here.
void leaveCapture(Stream& stream);
/// Ends all captures.
void forgetCaptures();

}  // namespace sgpu
