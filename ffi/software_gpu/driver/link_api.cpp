#include "entry.h"
#include "image.h"
#include "link.h"

namespace sgpu {

Handles<Link>& links() {
  static Handles<Link>& all = *new Handles<Link>(Kind::Link);
  return all;
}

}  // namespace sgpu

using namespace sgpu;

namespace {

void add(Link& link, CUjitInputType type, const void* data, size_t bytes) {
  require(data && bytes);
  // PTX is also accepted where a caller calls it a cubin: what it is shows.
  require(type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_FATBINARY,
          CUDA_ERROR_NO_BINARY_FOR_GPU);
  const std::string image(static_cast<const char*>(data), bytes);
  try {
    for (std::string& text : ptxOf(image.c_str())) link.texts.push_back(std::move(text));
  } catch (const ImageError& error) {
    link.options->refuse(error);
    fail(error.code);
  }
}

std::shared_ptr<Link> linkOf(CUlinkState handle) { return links().get(asNumber(handle)); }

}  // namespace

SOFTWARE_GPU_API CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values,
                                          CUlinkState* state) {
  static Entry entry(__func__);
  return entry.withContext([&](Context& context) {
    require(state);
    auto link = std::make_shared<Link>();
    link->context = context.shared_from_this();
    link->options = std::make_unique<JitOptions>(count, options, values);
    *state = asHandle<CUlinkState>(links().add(link));
  });
}

SOFTWARE_GPU_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data,
                                           size_t bytes, const char*, unsigned count,
                                           CUjit_option* options, void** values) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    JitOptions(count, options, values);
    add(*linkOf(state), type, data, bytes);
  });
}

SOFTWARE_GPU_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                                           unsigned count, CUjit_option* options, void** values) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(path);
    JitOptions(count, options, values);
    const std::string file = readFile(path);
    add(*linkOf(state), type, file.data(), file.size());
  });
}

/// Compiles once, so that errors come here and not when the result is loaded.
SOFTWARE_GPU_API CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* bytes) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) {
    require(cubin);
    auto link = linkOf(state);
    require(!link->texts.empty());
    unloadModule(link->options->compile([&] { return loadModule(link->context, link->texts); }));
    link->image = imageOf(link->texts);
    *cubin = link->image.data();
    if (bytes) *bytes = link->image.size();
  });
}

SOFTWARE_GPU_API CUresult cuLinkDestroy(CUlinkState state) {
  static Entry entry(__func__);
  return entry.withContext([&](Context&) { links().remove(asNumber(state)); });
}
