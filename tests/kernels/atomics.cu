// What many threads change at once.
//
// histogram(const unsigned* x, unsigned* counts, int count)
//   counts[v % 64], counted in shared memory first; the lanes of a warp that hold the same value count
//   once for all. Any block and grid.
// ticketed_sum(const float* x, float* partial, unsigned* ticket, double* out, int count)
//   Each block leaves its sum; the one that draws the last ticket adds them up in order and puts the
//   ticket back to 0. Block 256, any grid; partial holds one number per block.
// extremes(const float* x, float* out, int count)
//   out[0] becomes the smallest and out[1] the largest, by compare-and-swap; out[2] grows by the sum of
//   x, out[3] by the number of elements, by floating-point atomics. Any block and grid.
// locked(unsigned* lock, unsigned* counter, int rounds)
//   One thread of each block takes a spin lock, adds 1 without atomics and lets go. Any block and grid.

namespace {

__device__ void replace(float* at, float value, bool (*better)(float, float)) {
  unsigned* bits = reinterpret_cast<unsigned*>(at);
  unsigned seen = *bits;
  while (better(value, __uint_as_float(seen))) {
    const unsigned before = atomicCAS(bits, seen, __float_as_uint(value));
    if (before == seen) return;
    seen = before;
  }
}

__device__ __forceinline__ bool less(float a, float b) { return a < b; }
__device__ __forceinline__ bool greater(float a, float b) { return a > b; }

}  // namespace

extern "C" __global__ void histogram(const unsigned* x, unsigned* counts, int count) {
  __shared__ unsigned local[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned bin = x[i] % 64;
    const unsigned same = __match_any_sync(__activemask(), bin);
    if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&local[bin], __popc(same));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) {
    if (local[i] != 0) atomicAdd(&counts[i], local[i]);
  }
}

extern "C" __global__ void __launch_bounds__(256)
ticketed_sum(const float* x, float* partial, unsigned* ticket, double* out, int count) {
  __shared__ float sums[8];
  __shared__ bool isLast;
  float sum = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) sum += x[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; i++) sum += sums[i];
    partial[blockIdx.x] = sum;
    // The sum has to be seen by whoever sees the ticket.
    __threadfence();
    isLast = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!isLast || threadIdx.x != 0) return;
  __threadfence();
  double total = 0.0;
  for (int i = 0; i < gridDim.x; i++) total += static_cast<volatile float*>(partial)[i];
  *out = total;
}

extern "C" __global__ void extremes(const float* x, float* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    replace(&out[0], x[i], less);
    replace(&out[1], x[i], greater);
    atomicAdd(&out[2], x[i]);
    atomicAdd(&out[3], 1.0f);
  }
}

extern "C" __global__ void locked(unsigned* lock, unsigned* counter, int rounds) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < rounds; i++) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    __threadfence();
    *static_cast<volatile unsigned*>(counter) += 1;
    __threadfence();
    atomicExch(lock, 0u);
  }
}
