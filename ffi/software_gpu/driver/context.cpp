#include "context.h"

#include <algorithm>

#include "../memory/allocations.h"
#include "event.h"
#include "graph_exec.h"
#include "library.h"
#include "link.h"
#include "stream.h"

namespace sgpu {
namespace {

/// Counts resets: a stack of an earlier life is empty.
std::atomic<uint64_t> lives{0};

struct Stack {
  std::vector<std::shared_ptr<Context>> contexts;
  uint64_t life = 0;
};

std::atomic<uint64_t> threads{0};
uint64_t threadNumber() {
  thread_local const uint64_t number = ++threads;
  return number;
}

}  // namespace

Handles<Context>& contexts() {
  static Handles<Context>& all = *new Handles<Context>(Kind::Context);
  return all;
}

std::shared_ptr<Context> contextOf(CUcontext handle) {
  if (auto context = contexts().find(asNumber(handle))) return context;
  fail(isOfKind(asNumber(handle), Kind::Context) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                 : CUDA_ERROR_INVALID_CONTEXT);
}

std::vector<std::shared_ptr<Context>>& contextStack() {
  thread_local Stack stack;
  const uint64_t now = lives.load(std::memory_order_acquire);
  if (stack.life != now) {
    stack.contexts.clear();
    stack.life = now;
  }
  return stack.contexts;
}

const std::shared_ptr<Context>& currentContext() {
  const auto& stack = contextStack();
  require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
  require(stack.back()->alive.load(std::memory_order_acquire), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return stack.back();
}

void forgetContextStacks() { lives++; }

std::shared_ptr<Stream> Context::defaultStream() {
  std::lock_guard lock(mutex_);
  require(alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  if (!default_) {
    default_ = std::make_shared<Stream>(shared_from_this(), CU_STREAM_DEFAULT, 0, true);
    streams_.push_back(default_);
  }
  return default_;
}

std::shared_ptr<Stream> Context::startedDefaultStream() {
  std::lock_guard lock(mutex_);
  return default_;
}

std::shared_ptr<Stream> Context::threadStream() {
  std::lock_guard lock(mutex_);
  require(alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const uint64_t thread = threadNumber();
  for (const auto& [number, stream] : perThread_) {
    if (number == thread) return stream;
  }
  auto stream = std::make_shared<Stream>(shared_from_this(), CU_STREAM_DEFAULT, 0, false);
  perThread_.emplace_back(thread, stream);
  streams_.push_back(stream);
  return stream;
}

void Context::adopt(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(mutex_);
  require(alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const auto& weak) { return weak.expired(); }),
                 streams_.end());
  streams_.push_back(stream);
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
  std::vector<std::shared_ptr<Stream>> all;
  std::lock_guard lock(mutex_);
  for (const auto& weak : streams_) {
    if (auto stream = weak.lock()) all.push_back(std::move(stream));
  }
  return all;
}

void Context::synchronize() {
  for (const auto& stream : streams()) stream->synchronize();
}

void Context::destroy() {
  if (!alive.exchange(false)) return;
  for (const auto& stream : streams()) stream->close();
  synchronize();
  contexts().removeIf([&](const Context& other) { return &other == this; });
  const auto isMine = [this](const auto& object) { return object.context.get() == this; };
  sgpu::streams().removeIf(isMine);
  events().removeIf(isMine);
  destroyGraphsOf(*this);
  graphExecs().removeIf(isMine);
  functions().removeIf(isMine);
  libraries().removeIf(isMine);
  links().removeIf(isMine);
  modules().removeIf(isMine);
  allocations().freeAllOf(handle, device.budget);
  std::lock_guard lock(mutex_);
  default_.reset();
  perThread_.clear();
  streams_.clear();
}

}  // namespace sgpu
