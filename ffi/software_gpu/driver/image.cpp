#include "image.h"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "../failure.h"
#include "api.h"
#include "module.h"
#include "options.h"

namespace sgpu {
namespace {

constexpr uint32_t kFatBinary = 0xba55ed50, kFatBinaryWrapper = 0x466243b1;
constexpr char kElf[] = "\177ELF";
constexpr char kLinked[] = "\177linked PTX";

struct Wrapper {
  uint32_t magic, version;
  const void* data;
};

struct FatHeader {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes;
};

/// Of each image in a fat binary. What the fields say that are not named was not needed.
struct FatEntry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;
  uint32_t compressedBytes, unnamed;
  uint16_t minor, major;
  uint32_t architecture, nameOffset, nameBytes;
  uint64_t flags, unnamed2, plainBytes;
};
constexpr uint16_t kFatPtx = 1;
constexpr uint64_t kFatCompressed = 0x2000 | 0x8000;  ///< by LZ4 or by Zstandard

template <class T>
T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

unsigned capability() { return static_cast<unsigned>(options().computeCapability.load()); }

std::string fromFatBinary(const uint8_t* begin) {
  const auto header = read<FatHeader>(begin);
  if (header.headerBytes < sizeof header) {
    throw ImageError{CUDA_ERROR_INVALID_IMAGE, "the fat binary's header is too short"};
  }
  const uint8_t* at = begin + header.headerBytes;
  const uint8_t* const end = at + header.bytes;
  std::string best;
  unsigned bestTarget = 0;
  bool compressed = false;
  while (at + sizeof(FatEntry) <= end) {
    const auto entry = read<FatEntry>(at);
    const uint64_t left = static_cast<uint64_t>(end - at);
    if (entry.headerBytes < 64 || entry.headerBytes > left ||
        entry.bytes > left - entry.headerBytes) {
      throw ImageError{CUDA_ERROR_INVALID_IMAGE, "an image in the fat binary reaches out of it"};
    }
    if (entry.kind == kFatPtx && entry.architecture <= capability() &&
        entry.architecture >= bestTarget) {
      if (entry.flags & kFatCompressed) {
        compressed = true;
      } else {
        const char* text = reinterpret_cast<const char*>(at + entry.headerBytes);
        best.assign(text, strnlen(text, entry.bytes));
        bestTarget = entry.architecture;
      }
    }
    at += entry.headerBytes + entry.bytes;
  }
  if (best.empty()) {
    throw ImageError{CUDA_ERROR_NO_BINARY_FOR_GPU,
                     compressed ? "the fat binary's PTX is compressed: build it with --no-compress"
                                : "the fat binary holds no PTX for this device"};
  }
  return best;
}

bool isText(const uint8_t* begin) {
  for (int i = 0; i < 16 && begin[i]; i++) {
    if (begin[i] >= 0x7f || (begin[i] < 0x20 && !std::isspace(begin[i]))) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> ptxOf(const void* image) {
  const auto* bytes = static_cast<const uint8_t*>(image);
  if (bytes[0] == 0x7f && std::strncmp(reinterpret_cast<const char*>(bytes), kElf, 4) == 0) {
    throw ImageError{CUDA_ERROR_NO_BINARY_FOR_GPU,
                     "the image is machine code of a real device; this one runs PTX"};
  }
  if (bytes[0] == 0x7f && std::strncmp(reinterpret_cast<const char*>(bytes), kLinked,
                                       sizeof kLinked) == 0) {
    std::vector<std::string> texts;
    const char* at = reinterpret_cast<const char*>(bytes) + sizeof kLinked;
    for (; *at; at += texts.back().size() + 1) texts.emplace_back(at);
    return texts;
  }
  if (isText(bytes)) return {reinterpret_cast<const char*>(bytes)};
  const auto magic = read<uint32_t>(bytes);
  if (magic == kFatBinary) return {fromFatBinary(bytes)};
  if (magic == kFatBinaryWrapper) {
    const auto* data = static_cast<const uint8_t*>(read<Wrapper>(bytes).data);
    if (data && read<uint32_t>(data) == kFatBinary) return {fromFatBinary(data)};
  }
  throw ImageError{CUDA_ERROR_INVALID_IMAGE, "the image is neither PTX nor a fat binary"};
}

std::string imageOf(const std::vector<std::string>& texts) {
  std::string image(kLinked, sizeof kLinked);
  for (const std::string& text : texts) image.append(text).push_back('\0');
  image.push_back('\0');
  return image;
}

unsigned targetOf(const std::string& target) {
  const size_t digits = target.find_first_of("0123456789");
  return digits == std::string::npos
             ? 0
             : static_cast<unsigned>(std::strtoul(target.c_str() + digits, nullptr, 10));
}

bool runsHere(const std::string& target) {
  const unsigned wanted = targetOf(target);
  // `sm_90a` is for that very device, `sm_100f` for its family.
  switch (target.empty() ? '\0' : target.back()) {
    case 'a': return wanted == capability();
    case 'f': return wanted / 10 == capability() / 10 && wanted <= capability();
    default: return wanted <= capability();
  }
}

std::string readFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), CUDA_ERROR_FILE_NOT_FOUND);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sgpu
