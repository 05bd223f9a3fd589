/// Special registers, PTX ISA 10: predefined, read-only, not declared in the text.
#pragma once

#include <string_view>

#include "module.h"

namespace sgpu::ptx {

/// Type of a special register, `None` for any other name.
Type specialType(std::string_view name);

}  // namespace sgpu::ptx
