#pragma once

#include "jit_options.h"

namespace sgpu {

/// What `cuLinkCreate` makes: texts on their way to one image.
struct Link {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  std::unique_ptr<JitOptions> options;
  std::vector<std::string> texts;
  std::string image;  ///< once complete; the caller has its address until the link is destroyed
};

Handles<Link>& links();

}  // namespace sgpu
