/// The vendor's header where the build found one, our own where not.
#pragma once

#ifdef SOFTWARE_GPU_VENDOR_HEADER
// Declares every function by the name it is exported under, older forms included.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#else
#include "cuda_types.h"
#endif

/// What the library exports; everything else is hidden.
#define SOFTWARE_GPU_API extern "C" __attribute__((visibility("default")))
