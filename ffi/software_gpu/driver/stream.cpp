#include "stream.h"

#include <system_error>
#include <thread>

#include "../execute/fault.h"
#include "../memory/retired.h"
#include "entry.h"
#include "progress.h"
#include "sticky.h"

namespace sgpu {
namespace {

std::atomic<uint64_t> threads{0};
std::atomic<bool> cancelled{false};

}  // namespace

Handles<Stream>& streams() {
  static Handles<Stream>& all = *new Handles<Stream>(Kind::Stream);
  return all;
}

uint64_t liveStreamThreads() { return threads.load(std::memory_order_acquire); }

void cancelAll(bool cancel) {
  cancelled.store(cancel, std::memory_order_release);
  progress().notify();
}

bool isCancelled() { return cancelled.load(std::memory_order_acquire); }
bool isPointless() { return isCancelled() || stickyCode() != 0; }

bool Place::isDone() const {
  if (!stream || stream->completed_.load(std::memory_order_acquire) >= ticket) return true;
  return inside && inside->nanos.load(std::memory_order_acquire) != 0;
}

Stream::Stream(std::shared_ptr<Context> context, unsigned flags, int priority, bool isDefault)
    : context(std::move(context)), flags(flags), priority(priority), isDefault_(isDefault) {}

bool Stream::isIdle() const { return last().isDone(); }

Place Stream::last() const {
  return {shared_from_this(), submitted_.load(std::memory_order_acquire), nullptr};
}

std::vector<Place> Stream::placesOfDefaultRules() const {
  std::vector<Place> places;
  if (flags & CU_STREAM_NON_BLOCKING) return places;
  if (isDefault_) {
    for (const auto& other : context->streams()) {
      if (other.get() == this || other->flags & CU_STREAM_NON_BLOCKING) continue;
      if (!other->isIdle()) places.push_back(other->last());
    }
  } else if (auto other = context->startedDefaultStream(); other && !other->isIdle()) {
    places.push_back(other->last());
  }
  return places;
}

Place Stream::enqueue(std::shared_ptr<const Operation> operation, std::vector<Place> after) {
  for (Place& place : placesOfDefaultRules()) after.push_back(std::move(place));
  Place place{shared_from_this(), 0, nullptr};
  std::lock_guard lock(mutex_);
  require(!closed_, CUDA_ERROR_INVALID_HANDLE);
  start();
  queue_.push_back({std::move(operation), std::move(after)});
  place.ticket = submitted_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (sleeps_) arrived_.notify_one();
  return place;
}

void Stream::start() {
  if (started_) return;
  threads++;
  try {
    std::thread([self = shared_from_this()]() mutable {
      self->serve();
      self.reset();  // before the count says that nothing is left
      threads--;
      progress().notify();
    }).detach();
  } catch (const std::system_error&) {
    threads--;
    fail(CUDA_ERROR_OPERATING_SYSTEM);
  }
  started_ = true;
}

void Stream::serve() {
  std::vector<Entry> taken;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      sleeps_ = true;
      arrived_.wait(lock, [&] { return !queue_.empty() || closed_; });
      sleeps_ = false;
      if (queue_.empty()) return;
      taken.swap(queue_);
    }
    for (Entry& entry : taken) {
      for (const Place& place : entry.after) {
        progress().wait([&] { return place.isDone() || isCancelled(); });
      }
      if (!isPointless()) {
        const uint64_t running = retired().enter();
        try {
          entry.operation->execute(*this);
        } catch (const Fault& fault) {
          stick(fault.code, fault.message());
        }
        retired().leave(running);
      }
      // What the operation held is gone before anybody can see that it is done.
      entry.operation.reset();
      entry.after.clear();
      completed_.fetch_add(1, std::memory_order_acq_rel);
      progress().notify();
    }
    taken.clear();
  }
}

void Stream::synchronize() const {
  const Place end = last();
  progress().wait([&] { return end.isDone(); });
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_one();
}

std::shared_ptr<Stream> streamOf(CUstream handle, Context& context) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return context.defaultStream();
  if (handle == CU_STREAM_PER_THREAD) return context.threadStream();
  auto stream = streams().get(asNumber(handle));
  require(stream->context.get() == &context, CUDA_ERROR_INVALID_HANDLE);
  return stream;
}

CUresult afterWaiting() { return static_cast<CUresult>(stickyCode()); }

}  // namespace sgpu
