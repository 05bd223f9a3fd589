// What C++ asks of a GPU beyond arithmetic: calls, tables of functions, stacks, memory of all kinds.
//
// shapes(const int* kinds, const float* sizes, float* areas, int count)
//   Objects with virtual functions, made by each thread for itself.
// table(const int* which, const int* x, int* out, int count)
//   Functions through a table in global memory that the compiler has filled in.
// recursive(const int* x, int* out, int count)
//   Ackermann's function of (x % 3, x % 4): calls that no compiler unrolls.
// insertion_sort(const int* x, int* out, int count)
//   Rows of 16, each sorted by one thread on its stack with indices known only at run time.
// somewhere(const int* x, int* out, int count)
//   Reads through pointers that lead to global, shared, constant or local memory.
// wide(const long long* a, const long long* b, long long* out, int count)
//   a / b, a % b, the upper half of a * b, and bits of both, for 64 bits.
// doubles(const double* x, double* out, int count)
//   sin, exp, log, cbrt, erf, tgamma, fma and division in fp64.
// diverging(const int* x, int* steps, unsigned* odd, int count)
//   Loops of different lengths in the lanes of a warp, and a vote once they have met again.

namespace {

struct ShapeBase {
  __device__ virtual float area() const = 0;
  __device__ virtual float scaled(float by) const { return area() * by * by; }
};
struct Square : ShapeBase {
  float side;
  __device__ explicit Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : ShapeBase {
  float radius;
  __device__ explicit Circle(float radius) : radius(radius) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
  __device__ float scaled(float by) const override { return area() * by * by + 1.0f; }
};

__device__ __noinline__ float measure(const ShapeBase* shape) {
  return shape->area() + shape->scaled(2.0f);
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negative(int x) { return -x; }

using Function = int (*)(int);
__device__ Function functions[] = {twice, square, negative};
__constant__ int constants[] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int globals[] = {100, 200, 300, 400};
// An address of one variable in the initialiser of another.
__device__ int* third = &globals[2];

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

struct Parts {
  long long quotient, remainder;
  unsigned high;
};
__device__ __noinline__ Parts divide(long long a, long long b) {
  return {a / b, a % b, (unsigned)((unsigned long long)a >> 40)};
}

}  // namespace

extern "C" __global__ void shapes(const int* kinds, const float* sizes, float* areas, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const Square square(sizes[at]);
  const Circle circle(sizes[at]);
  const ShapeBase* shape = kinds[at] == 0 ? static_cast<const ShapeBase*>(&square) : &circle;
  areas[at] = measure(shape);
}

extern "C" __global__ void table(const int* which, const int* x, int* out, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = functions[which[at]](x[at]);
}

extern "C" __global__ void recursive(const int* x, int* out, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = ackermann(x[at] % 3, x[at] % 4);
}

extern "C" __global__ void insertion_sort(const int* x, int* out, int count) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count) return;
  int list[16];
  for (int i = 0; i < 16; i++) {
    const int value = x[row * 16 + i];
    int at = i;
    while (at > 0 && list[at - 1] > value) {
      list[at] = list[at - 1];
      at--;
    }
    list[at] = value;
  }
  for (int i = 0; i < 16; i++) out[row * 16 + i] = list[i];
}

extern "C" __global__ void somewhere(const int* x, int* out, int count) {
  __shared__ int shared[4];
  if (threadIdx.x < 4) shared[threadIdx.x] = 1000 * (threadIdx.x + 1);
  __syncthreads();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  int local[4];
  for (int i = 0; i < 4; i++) local[i] = -i - x[at];
  const int index = (x[at] >> 2) & 3;
  const int* from;
  switch (x[at] & 3) {
    case 0: from = globals; break;
    case 1: from = shared; break;
    case 2: from = constants; break;
    default: from = local; break;
  }
  out[at] = from[index] + *third;
}

extern "C" __global__ void wide(const long long* a, const long long* b, long long* out, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const Parts parts = divide(a[at], b[at]);
  out[at * 6] = parts.quotient;
  out[at * 6 + 1] = parts.remainder;
  out[at * 6 + 2] = __mul64hi(a[at], b[at]);
  out[at * 6 + 3] = __popcll(a[at]) | __clzll(b[at]) << 8 | __ffsll(a[at]) << 16;
  out[at * 6 + 4] = __brevll(a[at]) ^ parts.high;
  out[at * 6 + 5] = __byte_perm(a[at], b[at], 0x5140) | (long long)__funnelshift_l(a[at], b[at], 7) << 32;
}

extern "C" __global__ void doubles(const double* x, double* out, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const double value = x[at];
  out[at * 8] = sin(value);
  out[at * 8 + 1] = exp(value);
  out[at * 8 + 2] = log(fabs(value) + 0.5);
  out[at * 8 + 3] = cbrt(value);
  out[at * 8 + 4] = erf(value);
  out[at * 8 + 5] = tgamma(fabs(value) + 1.0);
  out[at * 8 + 6] = fma(value, value, -value * value);
  out[at * 8 + 7] = 1.0 / (value * 3.0);
}

extern "C" __global__ void diverging(const int* x, int* steps, unsigned* odd, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  int taken = 0;
  if (at < count) {
    long long value = x[at];
    while (value != 1) {
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
      taken++;
    }
    steps[at] = taken;
  }
  const unsigned votes = __ballot_sync(0xffffffffu, taken % 2 != 0);
  if (threadIdx.x % 32 == 0) odd[at / 32] = votes;
}
