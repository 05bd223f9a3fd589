#include "launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "capture.h"
#include "counters.h"
#include "entry.h"
#include "event.h"
#include "kernel_table.h"
#include "options.h"
#include "processors.h"
#include "progress.h"

namespace sgpu {
namespace {

std::atomic<uint64_t> serials{0};

void check(const Function& function, const Dimensions& given) {
  const uint32_t gridLimit[] = {Limits::gridX, Limits::gridY, Limits::gridZ};
  const uint32_t blockLimit[] = {Limits::blockX, Limits::blockY, Limits::blockZ};
  uint64_t threads = 1, blocks = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    require(given.grid[axis] != 0 && given.grid[axis] <= gridLimit[axis]);
    require(given.block[axis] != 0 && given.block[axis] <= blockLimit[axis]);
    threads *= given.block[axis];
    blocks *= given.grid[axis];
  }
  require(threads <= Limits::threadsPerBlock);
  // More threads than the kernel was compiled for, as opposed to more than any block may have.
  require(threads <= function.maxThreads(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  const FunctionCode& code = function.code();
  if (code.requiredThreads[0]) {
    for (unsigned axis = 0; axis < 3; axis++) {
      require(given.block[axis] == std::max(code.requiredThreads[axis], 1u));
    }
  }
  require(given.sharedBytes <= function.maxDynamicShared);
  require(code.sharedBytes + uint64_t(given.sharedBytes) <= Limits::sharedPerBlockOptIn());
  if (given.cooperative) {
    const uint64_t resident = uint64_t(Limits::multiprocessors) *
                              blocksPerMultiprocessor(function, threads, given.sharedBytes);
    require(blocks <= resident, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  }
}

/// The buffer that `extra` names, in place of one pointer for each argument. It may be padded, as a
/// structure that ends with its last argument is.
void copyBuffer(std::vector<uint8_t>& to, const FunctionCode& code, void** extra) {
  const void* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else {
      require(*extra == CU_LAUNCH_PARAM_BUFFER_SIZE);
      bytes = static_cast<const size_t*>(extra[1]);
    }
  }
  const size_t end = code.params.empty() ? 0 : code.params.back().offset + code.params.back().bytes;
  require(buffer && bytes && *bytes >= end && *bytes <= (end + 15) / 16 * 16);
  std::memcpy(to.data(), buffer, end);
}

/// Lets a time pass on the device's clock, unless the device is done for.
void letPass(Stream& stream, uint64_t nanos) {
  const uint64_t now = deviceNanos();
  stream.clock = std::max(now, stream.clock) + nanos;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(stream.clock - now);
  progress().waitUntil(end, isPointless);
}

/// Runs the blocks. Adversarial: each run of a stream in an order of its own, a graph's node that runs
/// again included, and in the same orders when all runs anew.
void runBlocks(const Launch& launch, Stream& stream) {
  const uint64_t seed = launch.options.adversarialSeed;
  if (!seed) return processors().run(launch, stream.priority);
  Launch mixed = launch;
  mixed.options.adversarialSeed = seed + stream.kernels++ * 0xBF58476D1CE4E5B9u;
  processors().run(mixed, stream.priority);
}

}  // namespace

KernelLaunch::KernelLaunch(std::shared_ptr<Function> kernel, const Dimensions& dimensions,
                           void** params, void** extra)
    : function(std::move(kernel)) {
  check(*function, dimensions);
  const FunctionCode& code = function->code();
  launch_.program = function->program;
  launch_.function = function->index;
  std::copy_n(dimensions.grid, 3, launch_.grid);
  std::copy_n(dimensions.block, 3, launch_.block);
  launch_.dynamicShared = dimensions.sharedBytes;
  launch_.cooperative = dimensions.cooperative;
  launch_.serial = ++serials;
  launch_.options = options().forLaunch();
  launch_.options.stackBytes = static_cast<uint32_t>(function->context->stackBytes.load());
  launch_.params.resize(code.paramBytes);
  require(!(params && extra));
  if (extra) {
    copyBuffer(launch_.params, code, extra);
  } else {
    require(params || code.params.empty());
    for (size_t i = 0; i < code.params.size(); i++) {
      require(params[i]);
      std::memcpy(launch_.params.data() + code.params[i].offset, params[i], code.params[i].bytes);
    }
  }
}

void** KernelLaunch::params() const {
  if (pointers_.empty()) {
    for (const ParamLayout& param : function->code().params) {
      pointers_.push_back(const_cast<uint8_t*>(launch_.params.data()) + param.offset);
    }
  }
  return pointers_.data();
}

void KernelLaunch::execute(Stream& stream) const {
  const std::string& name = function->code().name;
  counters().launches.fetch_add(1, std::memory_order_relaxed);
  if (const uint64_t late = kernelTable().takeDelay(name)) {
    if (late == UINT64_MAX) {
      progress().wait(isPointless);
    } else {
      letPass(stream, late);
    }
    if (isPointless()) return;
  }
  if (!options().timed) return runBlocks(launch_, stream);
  const uint64_t begin = deviceNanos();
  if (!options().skipArithmetic) runBlocks(launch_, stream);
  const uint64_t cost = kernelTable().cost(name, options().defaultKernelNanos);
  // The arithmetic's own time is part of the cost, as far as it goes.
  const uint64_t spent = deviceNanos() - begin;
  letPass(stream, cost > spent ? cost - spent : 0);
}

uint32_t blocksPerMultiprocessor(const Function& function, uint64_t threads,
                                 uint64_t dynamicShared) {
  require(threads != 0);
  if (threads > function.maxThreads()) return 0;
  const FunctionCode& code = function.code();
  const uint64_t warps = (threads + kWarpLanes - 1) / kWarpLanes;
  uint64_t blocks = std::min<uint64_t>(Limits::blocksPerMultiprocessor,
                                       Limits::threadsPerMultiprocessor / (warps * kWarpLanes));
  const uint64_t shared = code.sharedBytes + dynamicShared;
  if (shared > Limits::sharedPerBlockOptIn()) return 0;
  blocks = std::min(blocks, Limits::sharedPerMultiprocessor() / (shared + Limits::sharedReserved));
  return static_cast<uint32_t>(blocks);
}

}  // namespace sgpu

using namespace sgpu;

namespace {

void launch(Context& context, CUfunction handle, CUstream stream, const Dimensions& dimensions,
            void** params, void** extra) {
  auto function = functionOf(handle);
  require(function->context.get() == &context, CUDA_ERROR_INVALID_HANDLE);
  auto target = streamOf(stream, context);
  submit(*target, std::make_shared<KernelLaunch>(std::move(function), dimensions, params, extra));
}

}  // namespace

SOFTWARE_GPU_API CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                                         unsigned gridZ, unsigned blockX, unsigned blockY,
                                         unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                         void** params, void** extra) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    const Dimensions dimensions{
        {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, false};
    launch(context, function, stream, dimensions, params, extra);
  });
}

SOFTWARE_GPU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX,
                                                    unsigned gridY, unsigned gridZ, unsigned blockX,
                                                    unsigned blockY, unsigned blockZ,
                                                    unsigned sharedBytes, CUstream stream,
                                                    void** params) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    const Dimensions dimensions{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, true};
    launch(context, function, stream, dimensions, params, nullptr);
  });
}

SOFTWARE_GPU_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                           void** params, void** extra) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(config && (config->numAttrs == 0 || config->attrs));
    Dimensions dimensions{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes,
                          false};
    for (unsigned i = 0; i < config->numAttrs; i++) {
      const CUlaunchAttributeValue& value = config->attrs[i].value;
      switch (config->attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
          dimensions.cooperative = value.cooperative != 0;
          break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
          // A cluster of one block is what every block is anyway.
          require(value.clusterDim.x == 1 && value.clusterDim.y == 1 && value.clusterDim.z == 1,
                  CUDA_ERROR_INVALID_CLUSTER_SIZE);
          break;
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
          break;
        default:
          fail(CUDA_ERROR_NOT_SUPPORTED);
      }
    }
    launch(context, function, config->hStream, dimensions, params, extra);
  });
}
