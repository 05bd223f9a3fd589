#pragma once

#include "module.h"

namespace sgpu {

/// What `cuLibraryLoadData` makes.
struct Library {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  std::shared_ptr<Module> module;
};

Handles<Library>& libraries();

}  // namespace sgpu
