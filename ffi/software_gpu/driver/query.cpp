#include "query.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "entry.h"

namespace sgpu {

void* exported(const char* name) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&exported), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return self ? dlsym(self, name) : nullptr;
}

}  // namespace sgpu

using namespace sgpu;

namespace {

struct Form {
  const char* name;    ///< without a suffix
  int since;           ///< version of CUDA that this form belongs to
  const char* symbol;
};

/// Functions whose form changed with a version. Of all others the newest form fits any caller.
const Form kForms[] = {
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddDependencies", 10000, "cuGraphAddDependencies"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphExecUpdate", 10020, "cuGraphExecUpdate"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuGraphGetEdges", 10000, "cuGraphGetEdges"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuGraphInstantiate", 10000, "cuGraphInstantiate"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeGetParams", 10000, "cuGraphKernelNodeGetParams"},
    {"cuGraphKernelNodeSetParams", 12000, "cuGraphKernelNodeSetParams_v2"},
    {"cuGraphKernelNodeSetParams", 10000, "cuGraphKernelNodeSetParams"},
    {"cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2"},
    {"cuGraphNodeGetDependencies", 10000, "cuGraphNodeGetDependencies"},
    {"cuGraphNodeGetDependentNodes", 12030, "cuGraphNodeGetDependentNodes_v2"},
    {"cuGraphNodeGetDependentNodes", 10000, "cuGraphNodeGetDependentNodes"},
    {"cuGraphRemoveDependencies", 12030, "cuGraphRemoveDependencies_v2"},
    {"cuGraphRemoveDependencies", 10000, "cuGraphRemoveDependencies"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuStreamBeginCapture", 10000, "cuStreamBeginCapture"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
    {"cuStreamUpdateCaptureDependencies", 11030, "cuStreamUpdateCaptureDependencies"},
};

struct Lookup {
  void* function = nullptr;
  bool isKnown = false;  ///< in a later version at least
};

Lookup lookUp(const char* name, int version) {
  Lookup found;
  for (const Form& form : kForms) {
    if (std::strcmp(form.name, name) != 0) continue;
    found.isKnown = true;
    if (version < form.since) continue;
    found.function = exported(form.symbol);
    return found;
  }
  if (found.isKnown) return found;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    found.function = exported((std::string(name) + suffix).c_str());
    if (found.function) break;
  }
  found.isKnown = found.function != nullptr;
  return found;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* status) {
  static Entry entry(__func__);
  return entry.always([&] {
    constexpr cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    require(name && function && (flags & ~known) == 0 && flags != known);
    *function = nullptr;
    // Forms that mean the thread's own stream by 0: the library has none.
    require((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) == 0, CUDA_ERROR_NOT_SUPPORTED);
    if (status) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    // Control functions and forms with a suffix have to be asked of the loader.
    require(std::strncmp(name, "cu", 2) == 0 && !std::strstr(name, "_v"), CUDA_ERROR_NOT_FOUND);
    const Lookup found = lookUp(name, version);
    if (status && found.isKnown) {
      *status = found.function ? CU_GET_PROC_ADDRESS_SUCCESS
                               : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
    require(found.function, CUDA_ERROR_NOT_FOUND);
    *function = found.function;
  });
}

SOFTWARE_GPU_API CUresult cuGetProcAddress(const char* name, void** function, int version,
                                           cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

/// The vendor's libraries find private functions through it; there are none here.
SOFTWARE_GPU_API CUresult cuGetExportTable(const void** table, const CUuuid*) {
  static Entry entry(__func__);
  return entry.always([&] {
    if (table) *table = nullptr;
    fail(CUDA_ERROR_NOT_FOUND);
  });
}
