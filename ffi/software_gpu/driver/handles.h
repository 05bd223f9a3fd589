/// Objects by the handles that callers hold: a handle is a number that is never given twice, so one
/// that is stale, of another kind or made up is refused instead of followed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "../failure.h"
#include "api.h"

namespace sgpu {

enum class Kind : uint64_t { Context = 1, Stream, Event, Module, Function, Library, Link, Chunk,
                             Graph, GraphNode, GraphExec };

/// A number that was never given out before, recognisable in a debugger.
uint64_t newHandle(Kind kind);
bool isOfKind(uint64_t handle, Kind kind);

template <class Handle>
uint64_t asNumber(Handle handle) { return reinterpret_cast<uint64_t>(handle); }
template <class Handle>
Handle asHandle(uint64_t number) { return reinterpret_cast<Handle>(number); }

template <class T>
class Handles {
 public:
  explicit Handles(Kind kind) : kind_(kind) {}

  /// Fills in `object->handle`.
  uint64_t add(std::shared_ptr<T> object) {
    object->handle = newHandle(kind_);
    const uint64_t handle = object->handle;
    std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// @throws Failure 400, or 1 for none at all
  std::shared_ptr<T> get(uint64_t handle) const {
    auto object = find(handle);
    if (!object) refuse(handle);
    return object;
  }

  std::shared_ptr<T> find(uint64_t handle) const {
    std::shared_lock lock(mutex_);
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// The handle is void from now on.
  std::shared_ptr<T> remove(uint64_t handle) {
    std::unique_lock lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  template <class Condition>
  std::vector<std::shared_ptr<T>> removeIf(Condition condition) {
    std::vector<std::shared_ptr<T>> removed;  // destroyed by the caller, outside the lock
    std::unique_lock lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (condition(*it->second)) {
        removed.push_back(std::move(it->second));
        it = objects_.erase(it);
      } else {
        ++it;
      }
    }
    return removed;
  }

  uint64_t size() const {
    std::shared_lock lock(mutex_);
    return objects_.size();
  }

 private:
  [[noreturn]] static void refuse(uint64_t handle) {
    fail(handle ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
  }

  const Kind kind_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace sgpu
