
#include "capture.h"
#include "entry.h"
#include "image.h"
#include "jit_options.h"
#include "module.h"

using namespace sgpu;

namespace {

CUmodule load(Context& context, const void* image, unsigned count, CUjit_option* options,
              void** values) {
  require(image);
  refuseWhileCapturing();
  JitOptions jit(count, options, values);
  auto module = jit.compile([&] { return loadModule(context.shared_from_this(), ptxOf(image)); });
  return asHandle<CUmodule>(module->handle);
}

std::shared_ptr<Module> moduleOf(CUmodule handle) { return modules().get(asNumber(handle)); }

Global globalOf(const Module& module, const char* name) {
  require(name);
  auto found = module.globals.find(name);
  require(found != module.globals.end(), CUDA_ERROR_NOT_FOUND);
  return found->second;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                             CUjit_option* options, void** values) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(module);
    *module = load(context, image, count, options, values);
  });
}

SOFTWARE_GPU_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(module);
    *module = load(context, image, 0, nullptr, nullptr);
  });
}

SOFTWARE_GPU_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}

SOFTWARE_GPU_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(module && path);
    *module = load(context, readFile(path).c_str(), 0, nullptr, nullptr);
  });
}

/// Waits for all work first: kernels may be running that use the module's variables.
SOFTWARE_GPU_API CUresult cuModuleUnload(CUmodule handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    refuseWhileCapturing();
    auto module = moduleOf(handle);
    context.synchronize();
    unloadModule(module);
  });
}

SOFTWARE_GPU_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle,
                                              const char* name) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(function && name);
    auto module = moduleOf(handle);
    auto found = module->functions.find(name);
    require(found != module->functions.end(), CUDA_ERROR_NOT_FOUND);
    *function = asHandle<CUfunction>(found->second);
  });
}

SOFTWARE_GPU_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(count);
    *count = static_cast<unsigned>(moduleOf(handle)->functions.size());
  });
}

SOFTWARE_GPU_API CUresult cuModuleEnumerateFunctions(CUfunction* list, unsigned count,
                                                     CUmodule handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(list && count);
    for (const auto& [name, function] : moduleOf(handle)->functions) {
      if (count-- == 0) break;
      *list++ = asHandle<CUfunction>(function);
    }
  });
}

SOFTWARE_GPU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle,
                                               const char* name) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    const Global global = globalOf(*moduleOf(handle), name);
    if (address) *address = global.address;
    if (bytes) *bytes = global.bytes;
  });
}

SOFTWARE_GPU_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(mode);
    *mode = CU_MODULE_EAGER_LOADING;
  });
}
