/// What an immediate is worth as a value of some type.
#pragma once

#include "module.h"

namespace sgpu::ptx {

/// The bits of an immediate as a value of `type`. Floats are rounded to the type's width; untyped
/// bits take them as a float of the same width. An integer is its two's complement, whatever `type`.
uint64_t literalBits(const Operand& immediate, Type type);

}  // namespace sgpu::ptx
