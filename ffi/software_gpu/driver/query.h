/// The library's own functions by name.
#pragma once

namespace sgpu {

/// @returns The exported function, or null
void* exported(const char* name);

}  // namespace sgpu
