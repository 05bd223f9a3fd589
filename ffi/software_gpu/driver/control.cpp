/// What tests ask of the device beside CUDA. None of it fails on a sticky fault.
#include <cstring>

#include "../memory/allocations.h"
#include "../memory/virtual_memory.h"
#include "capture.h"
#include "counters.h"
#include "entry.h"
#include "graph_exec.h"
#include "kernel_table.h"
#include "link.h"
#include "options.h"
#include "progress.h"
#include "query.h"
#include "sticky.h"

using namespace sgpu;

namespace {

constexpr int kDeviceLost = CUDA_ERROR_DEVICE_UNAVAILABLE;

uint64_t liveHandles() {
  return contexts().size() + streams().size() + events().size() + modules().size() +
         links().size() + graphs().size() + graphExecs().size();
}

struct Counter {
  const char* name;
  uint64_t (*value)();
};

const Counter kCounters[] = {
    {"calls", CallRecord::callsOfAll},
    {"launches", [] { return counters().launches.load(); }},
    {"bytesToDevice", [] { return counters().bytesToDevice.load(); }},
    {"bytesToHost", [] { return counters().bytesToHost.load(); }},
    {"bytesRead", [] { return counters().bytesRead.load(); }},
    {"bytesWritten", [] { return counters().bytesWritten.load(); }},
    {"instructions", [] { return counters().instructions.load(); }},
    {"liveAllocations", [] { return allocations().count() + virtualMemory().chunks(); }},
    {"liveBytes", [] { return allocations().liveBytes() + virtualMemory().liveBytes(); }},
    {"liveHandles", liveHandles},
};

constexpr char kCallsOf[] = "calls:";

}  // namespace

/// @returns 0, or 1 when there is no such option or it does not take the value.
SOFTWARE_GPU_API int softwareGpuConfigure(const char* option, uint64_t value) {
  return option && configure(option, value) ? 0 : kInvalidValue;
}

/// What a kernel costs in timed mode.
SOFTWARE_GPU_API int softwareGpuKernelCost(const char* kernel, uint64_t nanos) {
  if (!kernel) return kInvalidValue;
  kernelTable().setCost(kernel, nanos);
  return 0;
}

/// The nth next call of a function fails with a code.
/// @returns 0, or 1 for a function that is not exported
SOFTWARE_GPU_API int softwareGpuInject(const char* function, uint64_t nth, int code) {
  if (!function || nth == 0 || code == 0 || !exported(function)) return kInvalidValue;
  CallRecord& record = CallRecord::named(function);
  std::lock_guard lock(record.mutex);
  record.failures[record.calls + nth] = code;
  record.armed = true;
  return 0;
}

/// The nth next launch of a kernel is late; by UINT64_MAX, for ever.
SOFTWARE_GPU_API int softwareGpuDelayKernel(const char* kernel, uint64_t nth, uint64_t nanos) {
  if (!kernel || nth == 0) return kInvalidValue;
  kernelTable().delay(kernel, nth, nanos);
  return 0;
}

/// As if the device had fallen off its bus.
SOFTWARE_GPU_API void softwareGpuLoseDevice() { stick(kDeviceLost, "the device was lost"); }

/// As if the process had ended and begun: handles are void, memory is back, options are default.
SOFTWARE_GPU_API void softwareGpuReset() {
  cancelAll(true);
  setInitialised(false);
  forgetCaptures();
  for (const auto& context : contexts().removeIf([](const Context&) { return true; })) {
    context->destroy();
  }
  progress().wait([] { return liveStreamThreads() == 0; });
  for (uint32_t ordinal = 0; ordinal < kMaxDevices; ordinal++) {
    Device& each = device(ordinal);
    std::lock_guard lock(each.mutex);
    each.primary.reset();
    each.retains = 0;
    each.primaryFlags = 0;
  }
  {
    std::lock_guard lock(graphMutex());
    graphExecs().removeIf([](const GraphExec&) { return true; });
    graphNodes().removeIf([](const GraphNode&) { return true; });
    graphs().removeIf([](const Graph&) { return true; });
  }
  virtualMemory().clear();
  forgetContextStacks();
  CallRecord::resetAll();
  counters().reset();
  kernelTable().clear();
  resetOptions();
  clearSticky();
  cancelAll(false);
}

/// A figure by name: `launches`, `calls:cuMemAlloc_v2`, `liveBytes`; 0 for a name that is none.
SOFTWARE_GPU_API uint64_t softwareGpuCounter(const char* name) {
  if (!name) return 0;
  for (const Counter& counter : kCounters) {
    if (std::strcmp(counter.name, name) == 0) return counter.value();
  }
  if (std::strncmp(name, kCallsOf, sizeof kCallsOf - 1) == 0) {
    return CallRecord::named(name + sizeof kCallsOf - 1).calls;
  }
  return 0;
}

/// What the last fault was, in a sentence; empty when there was none.
SOFTWARE_GPU_API const char* softwareGpuFault() { return faultMessage(); }
