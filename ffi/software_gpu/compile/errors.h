/// How the compiler says what is wrong, and where.
#pragma once

#include "../ptx/module.h"
#include "program.h"

namespace sgpu {

[[noreturn]] inline void refuse(uint32_t line, const std::string& what) {
  throw CompileError("PTX line " + std::to_string(line) + ": " + what);
}

[[noreturn]] inline void refuse(const ptx::Instruction& instruction, const std::string& what) {
  refuse(instruction.line, "`" + instruction.text() + "`: " + what);
}

}  // namespace sgpu
