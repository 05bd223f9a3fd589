/// The fault that nothing but the end of the process clears.
#pragma once

#include <string>

namespace sgpu {

/// Whether a result leaves the process without a usable device.
bool isSticky(int code);
/// 0 while there is none.
int stickyCode();
/// Only the first one counts.
void stick(int code, const std::string& message);
/// What happened, in a sentence; empty when nothing did. Lives until the next fault or reset.
const char* faultMessage();
void clearSticky();

}  // namespace sgpu
