#include "system_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "../memory/access.h"
#include "warp.h"

namespace sgpu {
namespace {

constexpr size_t kLongestText = 4096;
constexpr size_t kLongestValue = 512;
constexpr size_t kLongestFlags = 7;  ///< keeps widths and precisions sensible

uint8_t* localOf(const Op& op, Warp& warp, unsigned lane, unsigned operand) {
  return warp.local(lane) + warp.frame->localOffset + op.slots[operand];
}

template <class T>
T argument(const Op& op, Warp& warp, unsigned lane, unsigned index) {
  T value;
  std::memcpy(&value, localOf(op, warp, lane, index), sizeof value);
  return value;
}

std::string textAt(const Op& op, Warp& warp, unsigned lane, uint64_t address) {
  std::string text;
  while (address && text.size() < kLongestText) {
    const uint8_t* c =
        access(op, warp, lane, ptx::Space::Generic, address + text.size(), 1, 1, Access::Read);
    if (!*c) break;
    text += static_cast<char>(*c);
  }
  return text;
}

/// `__assertfail(message, file, line, function, bytes of a character)`
void assertionFailed(const Op& op, Warp& warp, uint32_t mask) {
  const unsigned lane = __builtin_ctz(mask);
  const auto text = [&](unsigned index) {
    return textAt(op, warp, lane, argument<uint64_t>(op, warp, lane, index));
  };
  fault(op, warp, kAssert,
        "assertion `" + text(0) + "` failed in " + text(3) + ", " + text(1) + " line " +
            std::to_string(argument<uint32_t>(op, warp, lane, 2)),
        0, lane);
}

/// The values behind a format: each at the next multiple of its size.
class Values {
 public:
  Values(const Op& op, Warp& warp, unsigned lane, uint64_t address)
      : op_(op), warp_(warp), lane_(lane), address_(address) {}

  template <class T>
  T next() {
    address_ = (address_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, access(op_, warp_, lane_, ptx::Space::Generic, address_, sizeof value,
                               sizeof value, Access::Read),
                sizeof value);
    address_ += sizeof value;
    count_++;
    return value;
  }
  int count() const { return count_; }

 private:
  const Op& op_;
  Warp& warp_;
  unsigned lane_;
  uint64_t address_;
  int count_ = 0;
};

/// What stands between `%` and the letter: flags, width, precision, size of the value.
struct Conversion {
  std::string flags;
  bool isLong = false;
  char letter = 0;  ///< 0 at the end of the format
};

Conversion readConversion(const std::string& format, size_t& at, Values& values) {
  Conversion conversion;
  for (; at < format.size(); at++) {
    const char c = format[at];
    if (c == '*') {
      conversion.flags += std::to_string(values.next<int32_t>() % 256);
    } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
      conversion.isLong = true;
    } else if (std::strchr("-+ #.0123456789", c)) {
      if (conversion.flags.size() < kLongestFlags) conversion.flags += c;
    } else if (c != 'h') {
      conversion.letter = c;
      at++;
      break;
    }
  }
  return conversion;
}

template <class T>
std::string formatted(const std::string& flags, const char* letter, T value) {
  char text[kLongestValue];
  const int length = std::snprintf(text, sizeof text, ("%" + flags + letter).c_str(), value);
  return std::string(text, std::clamp<int>(length, 0, sizeof text - 1));
}

std::string convert(const Op& op, Warp& warp, unsigned lane, const Conversion& conversion,
                    Values& values) {
  const std::string& flags = conversion.flags;
  const char letter[] = {conversion.letter, 0};
  const std::string longLetter = std::string("ll") + letter;
  switch (conversion.letter) {
    case 'd': case 'i':
      return formatted(flags, longLetter.c_str(),
                       static_cast<long long>(conversion.isLong ? values.next<int64_t>()
                                                                : values.next<int32_t>()));
    case 'u': case 'x': case 'X': case 'o':
      return formatted(flags, longLetter.c_str(),
                       static_cast<long long>(conversion.isLong ? values.next<uint64_t>()
                                                                : values.next<uint32_t>()));
    case 'c': return formatted(flags, letter, values.next<int32_t>());
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
      return formatted(flags, letter, values.next<double>());
    case 'p': return formatted(flags, letter, reinterpret_cast<void*>(values.next<uint64_t>()));
    case 's':
      return formatted(flags, letter,
                       textAt(op, warp, lane, values.next<uint64_t>()).c_str());
    default: return letter;
  }
}

/// `int vprintf(format, values)`: writes to the process's standard output.
void print(const Op& op, Warp& warp, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const unsigned lane = __builtin_ctz(mask);
    const std::string format = textAt(op, warp, lane, argument<uint64_t>(op, warp, lane, 0));
    Values values(op, warp, lane, argument<uint64_t>(op, warp, lane, 1));
    std::string text;
    for (size_t at = 0; at < format.size();) {
      if (format[at] != '%') {
        text += format[at++];
      } else {
        const Conversion conversion = readConversion(format, ++at, values);
        text += convert(op, warp, lane, conversion, values);
      }
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    const int32_t count = values.count();
    std::memcpy(localOf(op, warp, lane, 2), &count, sizeof count);
  }
  std::fflush(stdout);
}

}  // namespace

const SystemCall* findSystemCall(const std::string& name) {
  static const std::unordered_map<std::string, SystemCall> calls = {
      {"__assertfail", {{8, 8, 4, 8, 8}, {}, assertionFailed}},
      {"vprintf", {{8, 8}, {4}, print}},
  };
  const auto found = calls.find(name);
  return found == calls.end() ? nullptr : &found->second;
}

}  // namespace sgpu
