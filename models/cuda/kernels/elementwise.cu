// One result per element, fp32. Block 256, grid ceil(count / 256).
//
// binary_{add,sub,mul,div,pow}_f32(const float* a, const float* b, float* out, int count,
//                                  Layout layout)
//   out is dense, of `count` elements; a and b are read as `layout` says, with stride 0 along an
//   axis that is broadcast.
// binary_{add,sub,mul,div,pow}_f32_flat(const float* a, const float* b, float* out, int count,
//                                       int modeA, int modeB)
//   The same where each operand is as dense as out (mode 0) or a single number (mode 1).
// unary_{sqrt,relu,sigmoid,tanh}_f32(const float* x, float* out, int count)
//
// out may be one of the inputs if that input is dense.

#include "activation.cuh"

constexpr int kMaxRank = 6;

// 76 bytes, passed by value. Axes from the outermost in; entries beyond `rank` are not read.
struct Layout {
  int rank;               // 0 to 6
  int dims[kMaxRank];     // of out
  int stridesA[kMaxRank]; // in elements
  int stridesB[kMaxRank];
};

namespace {

__device__ __forceinline__ unsigned elementIndex() { return blockIdx.x * blockDim.x + threadIdx.x; }

struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
struct Sub { __device__ float operator()(float a, float b) const { return a - b; } };
struct Mul { __device__ float operator()(float a, float b) const { return a * b; } };
struct Div { __device__ float operator()(float a, float b) const { return a / b; } };
struct Pow { __device__ float operator()(float a, float b) const { return powf(a, b); } };

struct Sqrt { __device__ float operator()(float x) const { return sqrtf(x); } };
struct Relu { __device__ float operator()(float x) const { return relu(x); } };
struct Sigmoid { __device__ float operator()(float x) const { return sigmoid(x); } };
struct Tanh { __device__ float operator()(float x) const { return tanhf(x); } };

template <typename Operation>
__device__ __forceinline__ void broadcast(const float* a, const float* b, float* out, int count,
                                          const Layout& layout) {
  const unsigned index = elementIndex();
  if (index >= (unsigned)count) return;
  unsigned rest = index;
  long long atA = 0, atB = 0;
  // Unrolled, with constant subscripts: the layout stays in parameter space and needs no stack.
#pragma unroll
  for (int axis = kMaxRank - 1; axis >= 0; axis--) {
    if (axis < layout.rank) {
      const unsigned dim = layout.dims[axis];
      const unsigned coordinate = rest % dim;
      rest /= dim;
      atA += (long long)coordinate * layout.stridesA[axis];
      atB += (long long)coordinate * layout.stridesB[axis];
    }
  }
  out[index] = Operation()(a[atA], b[atB]);
}

template <typename Operation>
__device__ __forceinline__ void flat(const float* a, const float* b, float* out, int count,
                                     int modeA, int modeB) {
  const unsigned index = elementIndex();
  if (index >= (unsigned)count) return;
  out[index] = Operation()(a[modeA == 0 ? index : 0], b[modeB == 0 ? index : 0]);
}

template <typename Operation>
__device__ __forceinline__ void unary(const float* x, float* out, int count) {
  const unsigned index = elementIndex();
  if (index < (unsigned)count) out[index] = Operation()(x[index]);
}

}  // namespace

#define BINARY(name, Operation)                                                                  \
  extern "C" __global__ void __launch_bounds__(256) binary_##name##_f32(                         \
      const float* a, const float* b, float* out, int count, const __grid_constant__ Layout l) { \
    broadcast<Operation>(a, b, out, count, l);                                                   \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) binary_##name##_f32_flat(                    \
      const float* a, const float* b, float* out, int count, int modeA, int modeB) {             \
    flat<Operation>(a, b, out, count, modeA, modeB);                                             \
  }

#define UNARY(name, Operation)                                                                   \
  extern "C" __global__ void __launch_bounds__(256) unary_##name##_f32(                          \
      const float* x, float* out, int count) {                                                   \
    unary<Operation>(x, out, count);                                                             \
  }

BINARY(add, Add)
BINARY(sub, Sub)
BINARY(mul, Mul)
BINARY(div, Div)
BINARY(pow, Pow)

UNARY(sqrt, Sqrt)
UNARY(relu, Relu)
UNARY(sigmoid, Sigmoid)
UNARY(tanh, Tanh)
