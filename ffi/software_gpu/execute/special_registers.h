/// `%tid`, `%laneid`, `%clock` and the other registers that the machine writes, PTX ISA 10.
#pragma once

#include <cstdint>
#include <string>

namespace sgpu {

struct Warp;

using SpecialRead = uint64_t (*)(const Warp& warp, unsigned lane);

struct SpecialRegister {
  enum class Changes : uint8_t {
    Never,
    ByBlock,  ///< differs between the blocks of one launch
    Always,   ///< while a kernel runs, so that each read asks for it
  };
  SpecialRead read;
  Changes changes = Changes::Never;
};

/// @returns nullptr for a name that is none.
const SpecialRegister* specialRegister(const std::string& name);

}  // namespace sgpu
