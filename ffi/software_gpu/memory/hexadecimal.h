/// Addresses in messages.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace sgpu {

inline std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace sgpu
