/// Events: marks in streams.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "stream.h"

namespace sgpu {

struct GraphNode;

struct Event {
  Event(std::shared_ptr<Context> context, unsigned flags)
      : context(std::move(context)), flags(flags) {}

  uint64_t handle = 0;
  const std::shared_ptr<Context> context;
  const unsigned flags;

  std::mutex mutex;                 ///< of what follows
  Place place;                      ///< of the last record; done when there was none
  std::shared_ptr<Stamp> stamp;     ///< of the last record
  bool isCaptured = false;          ///< whether the last record was in a capture
  std::weak_ptr<Capture> capture;   ///< that one
  std::vector<std::shared_ptr<GraphNode>> captured;  ///< what the record came behind in there

  bool isTimed() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
  /// What a wait for the event waits for.
  Place mark();
};

Handles<Event>& events();
/// @throws Failure 400, or 1 for none
std::shared_ptr<Event> eventOf(CUevent handle);

/// A mark in a stream's queue.
class RecordEvent : public Operation {
 public:
  explicit RecordEvent(std::shared_ptr<Stamp> stamp) : stamp_(std::move(stamp)) {}
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }

 private:
  const std::shared_ptr<Stamp> stamp_;
};

/// Nothing, at a place of its own.
class Nothing : public Operation {
 public:
  void execute(Stream&) const override {}
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_EMPTY; }
};

/// Records an event whenever the graph runs that this is a node of; a launch of the graph has a
/// `RecordEvent` in its place.
class RecordInGraph : public Operation {
 public:
  explicit RecordInGraph(std::shared_ptr<Event> event) : event(std::move(event)) {}
  void execute(Stream&) const override {}
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }

  const std::shared_ptr<Event> event;
};

/// Waits for what an event's last record is when the graph gets there.
class WaitInGraph : public Operation {
 public:
  explicit WaitInGraph(std::shared_ptr<Event> event) : event(std::move(event)) {}
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }

  const std::shared_ptr<Event> event;
};

/// Records an event in a stream that is not captured.
void record(Event& event, Stream& stream);

/// The device's clock, which counts from the start of the process.
uint64_t deviceNanos();

}  // namespace sgpu
