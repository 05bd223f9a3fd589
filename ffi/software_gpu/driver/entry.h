/// What every API function does first: it is counted, refused while a sticky fault or an injected
/// failure says so, and given the context that is current.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <type_traits>

#include "../failure.h"
#include "api.h"

namespace sgpu {

struct Context;

/// What is known of an API function by its name.
struct CallRecord {
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> armed{false};  ///< `failures` is not empty
  std::mutex mutex;
  std::map<uint64_t, int> failures;  ///< result by number of the call

  /// The first to ask makes it.
  static CallRecord& named(const char* function);
  static uint64_t callsOfAll();
  static void resetAll();
};

/// One per API function, static in it: `static Entry entry(__func__);`.
class Entry {
 public:
  explicit Entry(const char* function) : record_(CallRecord::named(function)) {}

  /// For functions that work in any state: names of errors, versions, `cuInit`.
  template <class Body>
  CUresult always(Body body) {
    if (const int refused = injected(count())) return static_cast<CUresult>(refused);
    return guarded(body);
  }

  /// For functions that need `cuInit` and a device that works.
  template <class Body>
  CUresult withDriver(Body body) {
    if (const int refused = refusal()) return static_cast<CUresult>(refused);
    return guarded(body);
  }

  /// For functions that act in the calling thread's current context.
  template <class Body>
  CUresult withContext(Body body) {
    if (const int refused = refusal()) return static_cast<CUresult>(refused);
    return guarded([&] { return body(current()); });
  }

 private:
  template <class Body>
  static CUresult guarded(Body&& body) {
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return CUDA_SUCCESS;
      } else {
        return body();
      }
    } catch (const Failure& failure) {
      return static_cast<CUresult>(failure.code);
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }

  uint64_t count() { return record_.calls.fetch_add(1, std::memory_order_relaxed) + 1; }
  int refusal();
  int injected(uint64_t call);
  static Context& current();

  CallRecord& record_;
};

bool isInitialised();
void setInitialised(bool initialised);

}  // namespace sgpu
