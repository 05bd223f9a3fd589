#include "jit_options.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sgpu {

JitOptions::JitOptions(unsigned count, const CUjit_option* options, void** values) {
  require(count == 0 || (options && values));
  for (unsigned i = 0; i < count; i++) {
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        info_.bytes = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
        info_.sizeValue = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        error_.bytes = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
        error_.sizeValue = &values[i];
        break;
      case CU_JIT_LOG_VERBOSE:
        verbose_ = values[i] != nullptr;
        break;
      case CU_JIT_WALL_TIME:
        wallTime_ = &values[i];
        break;
      default:
        // The others steer a code generator, of which there is none.
        require(options[i] < CU_JIT_NUM_OPTIONS);
    }
  }
}

double JitOptions::millis() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

void JitOptions::Log::write(const std::string& text) {
  size_t written = 0;
  if (buffer && bytes) {
    written = std::min(text.size(), bytes - 1);
    std::memcpy(buffer, text.data(), written);
    buffer[written] = 0;
  }
  if (sizeValue) *sizeValue = reinterpret_cast<void*>(written);
}

void JitOptions::refuse(const ImageError& error) { error_.write("error: " + error.message + "\n"); }

void JitOptions::tell(const Module& module) {
  error_.write("");
  std::string text;
  if (verbose_) {
    for (const FunctionCode& code : module.program->functions) {
      if (!code.isEntry) continue;
      text += "info: " + code.name + ": " + std::to_string(code.registersPerThread) +
              " registers, " + std::to_string(code.sharedBytes) + " bytes shared, " +
              std::to_string(code.localBytes) + " bytes local\n";
    }
  }
  info_.write(text);
}

void JitOptions::finish(double begin) {
  if (!wallTime_) return;
  const float taken = static_cast<float>(millis() - begin);
  *wallTime_ = nullptr;
  std::memcpy(wallTime_, &taken, sizeof taken);
}

}  // namespace sgpu
