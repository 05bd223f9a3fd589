/// `%tid`, `%laneid`, `%clock` and the other registers that the machine writes, PTX ISA 10.
#pragma once

#include <cstdint>
#include <string>

namespace sgpu {

struct Warp;

/// Its value changes while a kernel runs, so that each read asks for it.
bool isVolatileSpecial(const std::string& name);
/// Its value differs from block to block of one launch.
bool isBlockSpecial(const std::string& name);
bool isSpecial(const std::string& name);

/// @throws Fault 715 for a name that is none
uint64_t specialRegister(const std::string& name, const Warp& warp, unsigned lane);

}  // namespace sgpu
