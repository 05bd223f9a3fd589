#include "options.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../failure.h"
#include "../memory/shadow.h"
#include "device.h"

namespace sgpu {
namespace {

struct Row {
  const char* name;
  std::atomic<uint64_t> Options::*field;
  uint64_t least, most, initial;
};

constexpr uint64_t kAny = UINT64_MAX;
constexpr uint64_t kDefaultMemory = uint64_t(4) << 30;

const Row kRows[] = {
    {"memoryBytes", &Options::memoryBytes, 0, kAny, kDefaultMemory},
    {"largestFreeBlock", &Options::largestFreeBlock, 0, kAny, 0},
    {"deviceCount", &Options::deviceCount, 0, kMaxDevices, 1},
    {"computeCapability", &Options::computeCapability, 75, 121, 80},
    {"threads", &Options::threads, 1, 256, 1},
    {"instructionBudget", &Options::instructionBudget, 0, kAny, 0},
    {"adversarialSeed", &Options::adversarialSeed, 0, kAny, 0},
    {"checkUninitialised", &Options::checkUninitialised, 0, 1, 0},
    {"checkRaces", &Options::checkRaces, 0, 1, 0},
    {"timed", &Options::timed, 0, 1, 0},
    {"skipArithmetic", &Options::skipArithmetic, 0, 1, 0},
    {"defaultKernelNanos", &Options::defaultKernelNanos, 0, kAny, 0},
};

/// The driver's result cannot say which variable is wrong, so the standard error does.
[[noreturn]] void refuse(const char* variable, const char* text, const char* expected) {
  std::fprintf(stderr, "%s is \"%s\"; expected %s\n", variable, text, expected);
  fail(kInvalidValue);
}

void configureNumber(const char* variable, const char* option, const char* expected) {
  const char* text = std::getenv(variable);
  if (!text) return;
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 10);
  const bool whole = std::isdigit(static_cast<unsigned char>(*text)) && *end == 0 && errno == 0;
  if (!whole || !configure(option, value)) refuse(variable, text, expected);
}

void configureChecks(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) return;
  const std::string checks = text;
  for (size_t begin = 0; begin < checks.size();) {
    const size_t end = std::min(checks.find(',', begin), checks.size());
    const std::string check = checks.substr(begin, end - begin);
    if (check == "uninitialised") {
      configure("checkUninitialised", 1);
    } else if (check == "races") {
      configure("checkRaces", 1);
    } else {
      refuse(variable, text, "races, uninitialised, or both with a comma");
    }
    begin = end + 1;
  }
}

}  // namespace

Options& options() {
  static Options& all = *new Options;
  return all;
}

ExecutionOptions Options::forLaunch() const {
  ExecutionOptions launch;
  launch.instructionBudget = instructionBudget;
  launch.adversarialSeed = adversarialSeed;
  launch.checkUninitialised = checkUninitialised != 0;
  launch.checkRaces = checkRaces != 0;
  return launch;
}

bool configure(const char* name, uint64_t value) {
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, name) != 0) continue;
    if (value < row.least || value > row.most) return false;
    options().*row.field = value;
    trackGlobalWrites(options().checkUninitialised != 0);
    for (uint32_t ordinal = 0; ordinal < kMaxDevices; ordinal++) {
      device(ordinal).budget.configure(options().memoryBytes, options().largestFreeBlock);
    }
    return true;
  }
  return false;
}

void configureFromEnvironment() {
  configureNumber("SOFTWARE_GPU_MEMORY", "memoryBytes", "a number of bytes");
  configureNumber("SOFTWARE_GPU_THREADS", "threads", "1 to 256");
  configureNumber("SOFTWARE_GPU_SEED", "adversarialSeed", "a whole number");
  configureChecks("SOFTWARE_GPU_CHECKS");
}

void resetOptions() {
  for (const Row& row : kRows) configure(row.name, row.initial);
}

}  // namespace sgpu
