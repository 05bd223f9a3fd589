/// Options of a compilation, and the logs that it writes into the caller's buffers.
#pragma once

#include <string>

#include "api.h"
#include "module.h"

namespace sgpu {

class JitOptions {
 public:
  /// The arrays are written to as well: sizes of logs, the time taken.
  /// @throws Failure 1 for an option that does not exist
  JitOptions(unsigned count, const CUjit_option* options, void** values);

  /// Compiles, and tells the logs about it.
  /// @param make Loads a module, or throws ImageError
  /// @throws Failure
  template <class Make>
  std::shared_ptr<Module> compile(Make make) {
    const double begin = millis();
    try {
      std::shared_ptr<Module> module = make();
      tell(*module);
      finish(begin);
      return module;
    } catch (const ImageError& error) {
      refuse(error);
      finish(begin);
      fail(error.code);
    }
  }
  /// Puts an error into the log.
  void refuse(const ImageError& error);

 private:
  struct Log {
    char* buffer = nullptr;
    size_t bytes = 0;
    void** sizeValue = nullptr;  ///< told how much was written
    void write(const std::string& text);
  };
  static double millis();
  void tell(const Module& module);
  void finish(double begin);

  Log info_, error_;
  bool verbose_ = false;
  void** wallTime_ = nullptr;
};

}  // namespace sgpu
