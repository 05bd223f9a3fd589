#include "capture.h"
#include "entry.h"
#include "host_call.h"

#include <algorithm>

using namespace sgpu;

namespace {

/// The default stream's next operation would come behind all of the blocking ones', and so does
/// what asks or waits for it.
std::vector<std::shared_ptr<Stream>> askedWith(const std::shared_ptr<Stream>& stream) {
  std::vector<std::shared_ptr<Stream>> asked{stream};
  if (stream != stream->context->startedDefaultStream()) return asked;
  for (auto& other : stream->context->streams()) {
    if ((other->flags & CU_STREAM_NON_BLOCKING) == 0) asked.push_back(std::move(other));
  }
  return asked;
}

/// Handles that name a stream without having been created.
bool isSpecial(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags,
                                                     int priority) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(stream && (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) == 0);
    const int clamped = std::clamp(priority, kGreatestPriority, kLeastPriority);
    auto made = std::make_shared<Stream>(context.shared_from_this(), flags, clamped, false);
    context.adopt(made);
    *stream = asHandle<CUstream>(streams().add(made));
  });
}

SOFTWARE_GPU_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(stream && (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) == 0);
    auto made = std::make_shared<Stream>(context.shared_from_this(), flags, 0, false);
    context.adopt(made);
    *stream = asHandle<CUstream>(streams().add(made));
  });
}

SOFTWARE_GPU_API CUresult cuStreamDestroy_v2(CUstream stream) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(!isSpecial(stream), CUDA_ERROR_INVALID_HANDLE);
    auto destroyed = streams().remove(asNumber(stream));
    leaveCapture(*destroyed);
    destroyed->close();
  });
}

SOFTWARE_GPU_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

SOFTWARE_GPU_API CUresult cuStreamQuery(CUstream handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    auto queried = streamOf(handle, context);
    refuseCaptured(*queried);
    for (const auto& stream : askedWith(queried)) {
      if (!stream->isIdle()) return CUDA_ERROR_NOT_READY;
    }
    return afterWaiting();
  });
}

SOFTWARE_GPU_API CUresult cuStreamSynchronize(CUstream handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    auto awaited = streamOf(handle, context);
    refuseCaptured(*awaited);
    for (const auto& stream : askedWith(awaited)) stream->synchronize();
    return afterWaiting();
  });
}

SOFTWARE_GPU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    constexpr unsigned kExternal = 1;
    require((flags & ~kExternal) == 0);
    submitWait(eventOf(event), *streamOf(stream, context), flags == kExternal);
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(priority);
    *priority = streamOf(stream, context)->priority;
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(flags);
    *flags = streamOf(stream, context)->flags;
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(id);
    auto asked = streamOf(stream, context);
    *id = asked->handle ? asked->handle : reinterpret_cast<unsigned long long>(asked.get());
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetCtx(CUstream stream, CUcontext* owner) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(owner);
    *owner = asHandle<CUcontext>(streamOf(stream, context)->context->handle);
  });
}

SOFTWARE_GPU_API CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(device);
    *device = static_cast<CUdevice>(streamOf(stream, context)->context->device.ordinal);
  });
}

SOFTWARE_GPU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(function);
    submit(*streamOf(stream, context), std::make_shared<HostCall>(function, data));
  });
}

SOFTWARE_GPU_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function,
                                              void* data, unsigned flags) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(function && flags == 0);
    auto called = streamOf(stream, context);
    refuseCaptured(*called);
    submit(*called, std::make_shared<StreamCallback>(function, stream, data));
  });
}
