#include "event.h"

#include <algorithm>
#include <chrono>

#include "capture.h"
#include "entry.h"
#include "progress.h"

namespace sgpu {

Handles<Event>& events() {
  static Handles<Event>& all = *new Handles<Event>(Kind::Event);
  return all;
}

std::shared_ptr<Event> eventOf(CUevent handle) { return events().get(asNumber(handle)); }

uint64_t deviceNanos() {
  static const auto begin = std::chrono::steady_clock::now();
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<uint64_t>(std::chrono::nanoseconds(passed).count());
}

Place Event::mark() {
  std::lock_guard lock(mutex);
  return place;
}

void RecordEvent::execute(Stream& stream) const {
  stamp_->nanos.store(std::max(deviceNanos(), stream.clock), std::memory_order_release);
  progress().notify();
}

void WaitInGraph::execute(Stream&) const {
  const Place mark = event->mark();
  progress().wait([&] { return mark.isDone() || isCancelled(); });
}

void record(Event& event, Stream& stream) {
  auto stamp = std::make_shared<Stamp>();
  std::lock_guard lock(event.mutex);
  event.place = stream.enqueue(std::make_shared<RecordEvent>(stamp));
  event.stamp = std::move(stamp);
  event.isCaptured = false;
  event.capture.reset();
  event.captured.clear();
}

}  // namespace sgpu

using namespace sgpu;

SOFTWARE_GPU_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    constexpr unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    require(event && (flags & ~known) == 0);
    require((flags & CU_EVENT_INTERPROCESS) == 0, CUDA_ERROR_NOT_SUPPORTED);
    *event = asHandle<CUevent>(
        events().add(std::make_shared<Event>(context.shared_from_this(), flags)));
  });
}

SOFTWARE_GPU_API CUresult cuEventDestroy_v2(CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] { events().remove(asNumber(event)); });
}

SOFTWARE_GPU_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

SOFTWARE_GPU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) == 0);
    auto recorded = eventOf(event);
    require(recorded->context.get() == &context, CUDA_ERROR_INVALID_HANDLE);
    submitRecord(recorded, *streamOf(stream, context), (flags & CU_EVENT_RECORD_EXTERNAL) != 0);
  });
}

SOFTWARE_GPU_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    auto recorded = eventOf(event);
    require(recorded->context.get() == &context, CUDA_ERROR_INVALID_HANDLE);
    submitRecord(recorded, *streamOf(stream, context), false);
  });
}

SOFTWARE_GPU_API CUresult cuEventQuery(CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto queried = eventOf(event);
    refuseCaptured(*queried);
    refuseWhileCapturing();
    return queried->mark().isDone() ? afterWaiting() : CUDA_ERROR_NOT_READY;
  });
}

SOFTWARE_GPU_API CUresult cuEventSynchronize(CUevent event) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    auto awaited = eventOf(event);
    refuseCaptured(*awaited);
    refuseWhileCapturing();
    const Place mark = awaited->mark();
    progress().wait([&] { return mark.isDone(); });
    return afterWaiting();
  });
}

static CUresult elapsedTime(Entry& entry, float* millis, CUevent begin, CUevent end) {
  return entry.withDriver([&] {
    require(millis);
    auto first = eventOf(begin), second = eventOf(end);
    require(first->context == second->context, CUDA_ERROR_INVALID_HANDLE);
    uint64_t nanos[2];
    for (size_t i = 0; i < 2; i++) {
      Event& event = i == 0 ? *first : *second;
      std::lock_guard lock(event.mutex);
      require(event.isTimed() && event.stamp, CUDA_ERROR_INVALID_HANDLE);
      if (!event.place.isDone()) fail(CUDA_ERROR_NOT_READY);
      nanos[i] = event.stamp->nanos.load(std::memory_order_acquire);
    }
    const auto passed = static_cast<int64_t>(nanos[1] - nanos[0]);
    *millis = static_cast<float>(static_cast<double>(passed) / 1e6);
    return afterWaiting();
  });
}

SOFTWARE_GPU_API CUresult cuEventElapsedTime(float* millis, CUevent begin, CUevent end) {
  static Entry entry(__func__);
  return elapsedTime(entry, millis, begin, end);
}

SOFTWARE_GPU_API CUresult cuEventElapsedTime_v2(float* millis, CUevent begin, CUevent end) {
  static Entry entry(__func__);
  return elapsedTime(entry, millis, begin, end);
}
