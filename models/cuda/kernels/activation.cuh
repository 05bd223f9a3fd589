// What a kernel may apply to its results before it stores them.
#pragma once

enum Activation { kNone = 0, kRelu = 1, kSigmoid = 2, kTanh = 3 };

// A NaN stays one: only what compares below zero is replaced.
__device__ __forceinline__ float relu(float x) { return x < 0.0f ? 0.0f : x; }

// exp(-x) overflows to infinity for large negative x, and the quotient is then the right 0.
__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ float activate(float x, int activation) {
  switch (activation) {
    case kRelu: return relu(x);
    case kSigmoid: return sigmoid(x);
    case kTanh: return tanhf(x);
    default: return x;
  }
}
