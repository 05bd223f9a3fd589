/// A call that the driver refuses.
#pragma once

namespace sgpu {

/// Thrown inside, returned by the API function as its `CUresult`.
struct Failure {
  int code;
};

/// The results that memory and modules need without knowing the driver's header.
enum FailureCode : int {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kOperatingSystem = 304,
};

[[noreturn]] inline void fail(int code) { throw Failure{code}; }

inline void require(bool condition, int code = kInvalidValue) {
  if (!condition) fail(code);
}

}  // namespace sgpu
