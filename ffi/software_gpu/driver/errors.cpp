#include "entry.h"

using namespace sgpu;

namespace {

struct Row {
  int code;
  const char* name;
  const char* meaning;
};

/// Every result of the driver that a caller may meet, here or on a real device.
const Row kRows[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called"},
    {4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
    {5, "CUDA_ERROR_PROFILER_DISABLED", "profiling is off"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "the library is a stub for linking"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is unavailable or busy"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device was found"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "no device has this number"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no license"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "not a kernel image"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "no context is current, or it is not one"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping failed"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "mapped already"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image holds no code for this device"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED", "acquired already"},
    {211, "CUDA_ERROR_NOT_MAPPED", "not mapped"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "not mapped as an array"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "not mapped as a pointer"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "an uncorrectable memory error"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the device does not have this limit"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "the context is current in another thread"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "the devices cannot reach each other"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX does not compile"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "the graphics context is not valid"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an uncorrectable error on NVLink"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the PTX compiler's library was not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a newer version than the driver"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "compilation of PTX is off"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the device cannot be divided like this"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "kernels cannot wait for kernels"},
    {226, "CUDA_ERROR_CONTAINED", "a contained error ended the context's work"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "the source is not valid"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "the file was not found"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a library lacks a symbol"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a library did not initialise"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "the operating system refused a call"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "not a handle of this kind, or no longer one"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "not possible in this state"},
    {402, "CUDA_ERROR_LOSSY_QUERY", "the answer would lose information"},
    {500, "CUDA_ERROR_NOT_FOUND", "no such name"},
    {600, "CUDA_ERROR_NOT_READY", "not done yet"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel touched memory that it may not"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch asks for more than a block may have"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel took too long"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "the kernel uses textures differently"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "access to the other device is on already"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "access to the other device is off"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context exists already"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed"},
    {710, "CUDA_ERROR_ASSERT", "an assertion in a kernel failed"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "too many devices reach each other"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's call stack is corrupt or too deep"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel's access was not aligned"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel's access was in the wrong address space"},
    {718, "CUDA_ERROR_INVALID_PC", "a kernel jumped to where no code is"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "the grid cannot be resident at once"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel left tensor memory allocated"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready for CUDA"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "the library and the kernel driver do not match"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "the device lacks forward compatibility"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "no connection to the MPS server"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "a call to the MPS server failed"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the MPS server has no room for a client"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the MPS server has no room for a connection"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "kernels cannot launch kernels"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "modules launch kernels in different ways"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not possible while a stream is captured"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture is void after an earlier error"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would merge"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a forked stream was not joined again"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a dependency reaches out of the capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream would wait for a captured one"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began in another thread"},
    {909, "CUDA_ERROR_TIMEOUT", "it took too long"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the executable graph cannot become this graph"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "another device failed"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster does not fit"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function is not loaded"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "the wrong type of resource"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "resources in a wrong configuration"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Row* rowOf(CUresult result) {
  for (const Row& row : kRows) {
    if (row.code == static_cast<int>(result)) return &row;
  }
  return nullptr;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGetErrorName(CUresult result, const char** name) {
  static Entry entry(__func__);
  return entry.always([&] {
    require(name);
    const Row* row = rowOf(result);
    *name = row ? row->name : nullptr;
    require(row);
  });
}

SOFTWARE_GPU_API CUresult cuGetErrorString(CUresult result, const char** text) {
  static Entry entry(__func__);
  return entry.always([&] {
    require(text);
    const Row* row = rowOf(result);
    *text = row ? row->meaning : nullptr;
    require(row);
  });
}
