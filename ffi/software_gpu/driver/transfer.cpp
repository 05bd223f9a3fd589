#include "capture.h"
#include "copy.h"
#include "entry.h"

using namespace sgpu;

namespace {

Box device(CUdeviceptr address) { return {address, 0, 0, Side::Device}; }
Box host(const void* memory) { return {reinterpret_cast<uint64_t>(memory), 0, 0, Side::Host}; }
Box either(CUdeviceptr address) { return {address, 0, 0, sideOf(address)}; }

Box rows(CUdeviceptr address, size_t pitch) { return {address, pitch, 0, Side::Device}; }

/// In the default stream, until it is done.
CUresult now(Context& context, std::shared_ptr<const Operation> operation) {
  auto stream = context.defaultStream();
  submit(*stream, std::move(operation));
  stream->synchronize();
  return afterWaiting();
}

CUresult copyNow(Context& context, const Box& to, const Box& from, size_t bytes) {
  return now(context, std::make_shared<Copy>(to, from, Extent{bytes}));
}

void copyLater(Context& context, CUstream stream, const Box& to, const Box& from, size_t bytes) {
  auto target = streamOf(stream, context);
  submit(*target, std::make_shared<Copy>(to, from, Extent{bytes}));
}

std::shared_ptr<const Fill> fill(const Box& to, size_t width, size_t height, uint32_t value,
                                 unsigned elementBytes) {
  require(height <= 1 || to.pitch >= width * elementBytes);
  require(width < uint64_t(1) << 46 && height < uint64_t(1) << 46);
  return std::make_shared<Fill>(to, Extent{width * elementBytes, height}, value, elementBytes);
}

std::shared_ptr<const Copy> copyOf2D(const CUDA_MEMCPY2D* params) {
  require(params);
  CUDA_MEMCPY3D wide{};
  wide.srcXInBytes = params->srcXInBytes;
  wide.srcY = params->srcY;
  wide.srcMemoryType = params->srcMemoryType;
  wide.srcHost = params->srcHost;
  wide.srcDevice = params->srcDevice;
  wide.srcPitch = params->srcPitch ? params->srcPitch : params->WidthInBytes;
  wide.dstXInBytes = params->dstXInBytes;
  wide.dstY = params->dstY;
  wide.dstMemoryType = params->dstMemoryType;
  wide.dstHost = params->dstHost;
  wide.dstDevice = params->dstDevice;
  wide.dstPitch = params->dstPitch ? params->dstPitch : params->WidthInBytes;
  wide.WidthInBytes = params->WidthInBytes;
  wide.Height = params->Height;
  wide.Depth = 1;
  return copyOf(wide);
}

}  // namespace

// Copies that are done when the call returns

SOFTWARE_GPU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return copyNow(context, device(to), host(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return copyNow(context, host(to), device(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return copyNow(context, device(to), device(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return copyNow(context, either(to), either(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* params) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) { return now(context, copyOf2D(params)); });
}

SOFTWARE_GPU_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* params) {
  return cuMemcpy2D_v2(params);
}

SOFTWARE_GPU_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* params) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(params);
    return now(context, copyOf(*params));
  });
}

// Copies in a stream's turn

SOFTWARE_GPU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                               CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { copyLater(context, stream, device(to), host(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                               CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { copyLater(context, stream, host(to), device(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                               CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { copyLater(context, stream, device(to), device(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                        CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { copyLater(context, stream, either(to), either(from), bytes); });
}

SOFTWARE_GPU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* params, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { submit(*streamOf(stream, context), copyOf2D(params)); });
}

SOFTWARE_GPU_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* params, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(params);
    submit(*streamOf(stream, context), copyOf(*params));
  });
}

// Fills. Of device memory even the plain form may return before it is done; here it waits.

SOFTWARE_GPU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return now(context, fill(device(to), count, 1, value, 1)); });
}

SOFTWARE_GPU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return now(context, fill(device(to), count, 1, value, 2)); });
}

SOFTWARE_GPU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  static Entry entry(__func__);
  return entry.withContext(
      [&](Context& context) { return now(context, fill(device(to), count, 1, value, 4)); });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value,
                                          size_t width, size_t height) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    return now(context, fill(rows(to, pitch), width, height, value, 1));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
                                           size_t width, size_t height) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    return now(context, fill(rows(to, pitch), width, height, value, 2));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value,
                                           size_t width, size_t height) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    return now(context, fill(rows(to, pitch), width, height, value, 4));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                          CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(device(to), count, 1, value, 1));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                                           CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(device(to), count, 1, value, 2));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                                           CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(device(to), count, 1, value, 4));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                                            size_t width, size_t height, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(rows(to, pitch), width, height, value, 1));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
                                             size_t width, size_t height, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(rows(to, pitch), width, height, value, 2));
  });
}

SOFTWARE_GPU_API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                                             size_t width, size_t height, CUstream stream) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    submit(*streamOf(stream, context), fill(rows(to, pitch), width, height, value, 4));
  });
}
