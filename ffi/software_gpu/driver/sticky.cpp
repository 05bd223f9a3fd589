#include "sticky.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "progress.h"

namespace sgpu {
namespace {

constexpr int kSticky[] = {46,  214, 220, 226, 700, 702, 710, 714, 715,
                           716, 717, 718, 719, 721, 911, 999};

std::atomic<int> sticky{0};
std::mutex mutex;
std::string& text() {
  static std::string& message = *new std::string;
  return message;
}

}  // namespace

bool isSticky(int code) {
  return std::find(std::begin(kSticky), std::end(kSticky), code) != std::end(kSticky);
}

int stickyCode() { return sticky.load(std::memory_order_acquire); }

void stick(int code, const std::string& message) {
  {
    std::lock_guard lock(mutex);
    if (sticky != 0) return;
    text() = message;
    sticky.store(code, std::memory_order_release);
  }
  progress().notify();
}

const char* faultMessage() {
  std::lock_guard lock(mutex);
  return text().c_str();
}

void clearSticky() {
  std::lock_guard lock(mutex);
  text().clear();
  sticky = 0;
}

}  // namespace sgpu
