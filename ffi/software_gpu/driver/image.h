/// What a caller may hand over as a kernel image.
#pragma once

#include <string>
#include <vector>

namespace sgpu {

/// The PTX in an image: a text, a fat binary that holds one for this device, or what `cuLinkComplete`
/// gave out, which may hold several.
/// @throws ImageError
std::vector<std::string> ptxOf(const void* image);
/// An image that `ptxOf` takes apart into these texts.
std::string imageOf(const std::vector<std::string>& texts);
/// The device's part of a PTX's `.target`: 80 of `sm_80`, 0 when there is none.
unsigned targetOf(const std::string& target);
/// Whether this device runs PTX of a target.
bool runsHere(const std::string& target);
/// @throws Failure 301
std::string readFile(const char* path);

}  // namespace sgpu
