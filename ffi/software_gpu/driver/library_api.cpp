/// Libraries: images that belong to no context, and are loaded into each that uses them. Here a
/// library is a module of the context that is current when it is loaded, and a kernel its function.
#include "capture.h"
#include "entry.h"
#include "image.h"
#include "jit_options.h"
#include "library.h"

namespace sgpu {

Handles<Library>& libraries() {
  static Handles<Library>& all = *new Handles<Library>(Kind::Library);
  return all;
}

}  // namespace sgpu

using namespace sgpu;

namespace {

std::shared_ptr<Module> moduleOf(CUlibrary handle) {
  return libraries().get(asNumber(handle))->module;
}

CUresult load(Context& context, CUlibrary* library, const void* image, CUjit_option* options,
              void** values, unsigned count) {
  require(library && image);
  refuseWhileCapturing();
  JitOptions jit(count, options, values);
  auto made = std::make_shared<Library>();
  made->context = context.shared_from_this();
  made->module = jit.compile([&] { return loadModule(made->context, ptxOf(image)); });
  *library = asHandle<CUlibrary>(libraries().add(made));
  return CUDA_SUCCESS;
}

}  // namespace

SOFTWARE_GPU_API CUresult cuLibraryLoadData(CUlibrary* library, const void* image,
                                            CUjit_option* options, void** values, unsigned count,
                                            CUlibraryOption*, void**, unsigned) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    return load(context, library, image, options, values, count);
  });
}

SOFTWARE_GPU_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                                CUjit_option* options, void** values,
                                                unsigned count, CUlibraryOption*, void**,
                                                unsigned) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(path);
    return load(context, library, readFile(path).c_str(), options, values, count);
  });
}

SOFTWARE_GPU_API CUresult cuLibraryUnload(CUlibrary handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    refuseWhileCapturing();
    auto library = libraries().remove(asNumber(handle));
    library->context->synchronize();
    unloadModule(library->module);
  });
}

SOFTWARE_GPU_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(kernel && name);
    auto module = moduleOf(handle);
    auto found = module->functions.find(name);
    require(found != module->functions.end(), CUDA_ERROR_NOT_FOUND);
    *kernel = asHandle<CUkernel>(found->second);
  });
}

SOFTWARE_GPU_API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(count);
    *count = static_cast<unsigned>(moduleOf(handle)->functions.size());
  });
}

SOFTWARE_GPU_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count,
                                                    CUlibrary handle) {
  static Entry entry(__func__);
  return entry.withDriver([&] {
    require(kernels && count);
    for (const auto& [name, function] : moduleOf(handle)->functions) {
      if (count-- == 0) break;
      *kernels++ = asHandle<CUkernel>(function);
    }
  });
}

SOFTWARE_GPU_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(module);
    *module = asHandle<CUmodule>(moduleOf(handle)->handle);
  });
}

SOFTWARE_GPU_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                                             const char* name) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(name);
    auto module = moduleOf(handle);
    auto found = module->globals.find(name);
    require(found != module->globals.end(), CUDA_ERROR_NOT_FOUND);
    if (address) *address = found->second.address;
    if (bytes) *bytes = found->second.bytes;
  });
}

SOFTWARE_GPU_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(function);
    *function = asHandle<CUfunction>(functions().get(asNumber(kernel))->handle);
  });
}
