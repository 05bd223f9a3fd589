/// Threads that use the software driver at once, each with random calls whose effects it can check:
/// what a sanitizer build of the library is run under.
///
///     driver_soak [seed] [steps per thread] [threads]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "driver_api.h"

namespace {

constexpr unsigned kElements = 1000;
constexpr size_t kBytes = kElements * sizeof(uint32_t);
constexpr size_t kChunk = 2 << 20;

/// `scale`: x[i] = x[i] * factor + i. `total`: adds all of x to *sum through shared memory.
const char kKernels[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 count, .param .u32 factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [factor];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd2, %r6, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r7, [%rd3];
  mad.lo.s32 %r7, %r7, %r2, %r6;
  st.global.u32 [%rd3], %r7;
DONE:
  ret;
}
.visible .entry total(.param .u64 x, .param .u32 count, .param .u64 sum)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  .shared .align 4 .b8 partial[1024];
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [count];
  ld.param.u64 %rd2, [sum];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  shl.b32 %r4, %r2, 8;
  add.s32 %r4, %r4, %r3;
  mov.u32 %r5, 0;
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 bra STORE;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u32 %r5, [%rd4];
STORE:
  mov.u32 %r6, partial;
  shl.b32 %r7, %r3, 2;
  add.s32 %r6, %r6, %r7;
  st.shared.u32 [%r6], %r5;
  mov.u32 %r8, 512;
HALVE:
  bar.sync 0;
  setp.ge.u32 %p1, %r7, %r8;
  @%p1 bra NEXT;
  add.s32 %r9, %r6, %r8;
  ld.shared.u32 %r10, [%r9];
  ld.shared.u32 %r11, [%r6];
  add.s32 %r11, %r11, %r10;
  st.shared.u32 [%r6], %r11;
NEXT:
  shr.u32 %r8, %r8, 1;
  setp.ge.u32 %p2, %r8, 4;
  @%p2 bra HALVE;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra DONE;
  ld.shared.u32 %r11, [partial];
  red.global.add.u32 [%rd2], %r11;
DONE:
  ret;
}
)";

[[noreturn]] void fail(const std::string& what) {
  fprintf(stderr, "driver_soak: %s\n", what.c_str());
  exit(1);
}

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(status, &name);
  fail(std::string(call) + " gave " + name);
}

/// One thread: a stream, a buffer on the device, and what should be in it.
class User {
 public:
  User(CUcontext context, uint64_t seed) : random_(seed), expected_(kElements) {
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&module_, kKernels), "cuModuleLoadData");
    check(cuModuleGetFunction(&scale_, module_, "scale"), "cuModuleGetFunction");
    check(cuModuleGetFunction(&total_, module_, "total"), "cuModuleGetFunction");
    check(cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    check(cuStreamCreateWithPriority(&other_, CU_STREAM_NON_BLOCKING, -1), "cuStreamCreate");
    check(cuEventCreate(&event_, 0), "cuEventCreate");
    check(cuEventCreate(&joined_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    check(cuMemAlloc_v2(&data_, kBytes), "cuMemAlloc");
    check(cuMemAlloc_v2(&sum_, sizeof(uint32_t)), "cuMemAlloc");
    check(cuMemHostAlloc(&host_, kBytes, 0), "cuMemHostAlloc");
    check(cuMemAddressReserve(&range_, 4 * kChunk, 0, 0, 0), "cuMemAddressReserve");
    write();
  }

  ~User() {
    check(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    check(cuMemAddressFree(range_, 4 * kChunk), "cuMemAddressFree");
    check(cuMemFreeHost(host_), "cuMemFreeHost");
    check(cuMemFree_v2(sum_), "cuMemFree");
    check(cuMemFree_v2(data_), "cuMemFree");
    check(cuEventDestroy_v2(joined_), "cuEventDestroy");
    check(cuEventDestroy_v2(event_), "cuEventDestroy");
    check(cuStreamDestroy_v2(other_), "cuStreamDestroy");
    check(cuStreamDestroy_v2(stream_), "cuStreamDestroy");
    check(cuModuleUnload(module_), "cuModuleUnload");
  }

  void step() {
    switch (random_() % 8) {
      case 0: return write();
      case 1: return scale();
      case 2: return sum();
      case 3: return read();
      case 4: return graph();
      case 5: return mapAndUnmap();
      case 6: return crossStreams();
      default: return query();
    }
  }

 private:
  void write() {
    check(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    uint32_t* host = static_cast<uint32_t*>(host_);
    for (unsigned i = 0; i < kElements; i++) host[i] = expected_[i] = random_();
    check(cuMemcpyHtoDAsync_v2(data_, host, kBytes, stream_), "cuMemcpyHtoDAsync");
  }

  void launchScale(CUstream stream, uint32_t factor) {
    uint32_t count = kElements;
    void* arguments[] = {&data_, &count, &factor};
    check(cuLaunchKernel(scale_, (kElements + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments,
                         nullptr), "cuLaunchKernel");
    for (unsigned i = 0; i < kElements; i++) expected_[i] = expected_[i] * factor + i;
  }

  void scale() { launchScale(stream_, random_()); }

  void sum() {
    uint32_t count = kElements, given = 0, wanted = 0;
    void* arguments[] = {&data_, &count, &sum_};
    check(cuMemsetD32Async(sum_, 0, 1, stream_), "cuMemsetD32Async");
    check(cuLaunchKernel(total_, (kElements + 255) / 256, 1, 1, 256, 1, 1, 0, stream_, arguments,
                         nullptr), "cuLaunchKernel");
    check(cuMemcpyDtoHAsync_v2(&given, sum_, sizeof given, stream_), "cuMemcpyDtoHAsync");
    check(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    for (uint32_t value : expected_) wanted += value;
    if (given != wanted) fail("a sum is wrong");
  }

  void read() {
    check(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    check(cuMemcpyDtoHAsync_v2(host_, data_, kBytes, stream_), "cuMemcpyDtoHAsync");
    check(cuEventRecord(event_, stream_), "cuEventRecord");
    check(cuEventSynchronize(event_), "cuEventSynchronize");
    const uint32_t* host = static_cast<uint32_t*>(host_);
    for (unsigned i = 0; i < kElements; i++) {
      if (host[i] != expected_[i]) fail("element " + std::to_string(i) + " is wrong");
    }
  }

  void graph() {
    CUgraph graph;
    CUgraphExec executable;
    const std::vector<uint32_t> before = expected_;
    check(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
          "cuStreamBeginCapture");
    launchScale(stream_, 3);
    check(cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
    expected_ = before;  // a capture runs nothing
    check(cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiate");
    const unsigned replays = random_() % 3;
    for (unsigned i = 0; i < replays; i++) {
      check(cuGraphLaunch(executable, stream_), "cuGraphLaunch");
      for (unsigned j = 0; j < kElements; j++) expected_[j] = expected_[j] * 3 + j;
    }
    check(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    check(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
  }

  void mapAndUnmap() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle chunk;
    const CUdeviceptr at = range_ + random_() % 4 * kChunk;
    check(cuMemCreate(&chunk, kChunk, &properties, 0), "cuMemCreate");
    check(cuMemMap(at, kChunk, 0, chunk, 0), "cuMemMap");
    check(cuMemSetAccess(at, kChunk, &access, 1), "cuMemSetAccess");
    check(cuMemsetD8_v2(at + random_() % kChunk, 7, 1), "cuMemsetD8");
    check(cuMemUnmap(at, kChunk), "cuMemUnmap");
    check(cuMemRelease(chunk), "cuMemRelease");
  }

  /// Work goes on in another stream and comes back.
  void crossStreams() {
    check(cuEventRecord(joined_, stream_), "cuEventRecord");
    check(cuStreamWaitEvent(other_, joined_, 0), "cuStreamWaitEvent");
    launchScale(other_, 5);
    check(cuEventRecord(joined_, other_), "cuEventRecord");
    check(cuStreamWaitEvent(stream_, joined_, 0), "cuStreamWaitEvent");
  }

  void query() {
    const CUresult status = cuStreamQuery(stream_);
    if (status != CUDA_ERROR_NOT_READY) check(status, "cuStreamQuery");
    size_t free, total;
    check(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
    if (free > total) fail("more memory is free than there is");
  }

  std::mt19937 random_;
  std::vector<uint32_t> expected_;
  CUmodule module_;
  CUfunction scale_, total_;
  CUstream stream_, other_;
  CUevent event_, joined_;
  CUdeviceptr data_, sum_, range_;
  void* host_;
};

uint64_t argument(int count, char** values, int index, uint64_t otherwise) {
  return index < count ? strtoull(values[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int count, char** values) {
  const uint64_t seed = argument(count, values, 1, 1);
  const uint64_t steps = argument(count, values, 2, 300);
  const uint64_t threads = argument(count, values, 3, 3);
  check(cuInit(0), "cuInit");
  softwareGpuConfigure("threads", 2);
  // Every other seed with random orders, late copies and poisoned memory.
  softwareGpuConfigure("adversarialSeed", seed % 2 == 0 ? seed : 0);
  CUdevice device;
  CUcontext context;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  std::vector<std::thread> users;
  for (uint64_t i = 0; i < threads; i++) {
    users.emplace_back([=] {
      User user(context, seed * 1000 + i);
      for (uint64_t step = 0; step < steps; step++) user.step();
    });
  }
  for (std::thread& user : users) user.join();
  check(cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
  for (const char* what : {"liveHandles", "liveAllocations", "liveBytes"}) {
    const uint64_t left = softwareGpuCounter(what);
    if (left != 0) fail(std::string(what) + " is " + std::to_string(left) + " at the end");
  }
  printf("%llu threads, %llu steps each: in order\n", static_cast<unsigned long long>(threads),
         static_cast<unsigned long long>(steps));
  return 0;
}
