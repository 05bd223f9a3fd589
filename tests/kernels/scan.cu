// Inclusive prefix sum of integers in one pass over memory.
//
// scan(const int* x, int* out, unsigned* ticket, unsigned long long* state, int count)
//   Blocks number themselves in the order in which they begin, so that each may wait for those before
//   it. state, one word per block, holds in its upper half how much its lower half says: nothing, the
//   block's own sum, or the sum up to and with the block. ticket and state are 0 at first. Block 128,
//   grid ceil(count / 512).

namespace {

constexpr int kThreads = 128, kEach = 4, kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

enum State : unsigned { kNothing = 0, kOwn = 1, kUpTo = 2 };

__device__ __forceinline__ void publish(unsigned long long* at, State state, int sum) {
  atomicExch(at, (unsigned long long)state << 32 | (unsigned)sum);
}

__device__ __forceinline__ int warpScan(int value) {
  const int lane = threadIdx.x % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int before = __shfl_up_sync(kAll, value, offset);
    if (lane >= offset) value += before;
  }
  return value;
}

// The sum of all blocks before `block`: the first warp looks back 32 blocks at a time.
__device__ int sumBefore(unsigned long long* state, int block) {
  const int lane = threadIdx.x % 32;
  int sum = 0;
  for (int last = block - 1; last >= 0; last -= 32) {
    const int at = last - lane;
    unsigned long long word = (unsigned long long)kUpTo << 32;
    if (at >= 0) {
      do word = *static_cast<volatile unsigned long long*>(&state[at]);
      while (word >> 32 == kNothing);
    }
    const unsigned complete = __ballot_sync(kAll, word >> 32 == kUpTo);
    const int nearest = complete == 0 ? 31 : __ffs(complete) - 1;
    int part = lane <= nearest ? (int)(unsigned)word : 0;
    for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(kAll, part, offset);
    sum += part;
    if (complete != 0) break;
  }
  return sum;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
scan(const int* x, int* out, unsigned* ticket, unsigned long long* state, int count) {
  __shared__ int sums[kWarps];
  __shared__ int block, before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1u);
  __syncthreads();

  const int begin = (block * kThreads + threadIdx.x) * kEach;
  int own[kEach];
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; i++) {
    sum += begin + i < count ? x[begin + i] : 0;
    own[i] = sum;
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int upToLane = warpScan(sum);
  if (lane == 31) sums[warp] = upToLane;
  __syncthreads();
  int beforeWarp = 0, total = 0;
  for (int i = 0; i < kWarps; i++) {
    if (i < warp) beforeWarp += sums[i];
    total += sums[i];
  }

  if (warp == 0) {
    if (lane == 0) publish(&state[block], block == 0 ? kUpTo : kOwn, total);
    const int found = sumBefore(state, block);
    if (lane == 0) {
      before = found;
      if (block != 0) publish(&state[block], kUpTo, found + total);
    }
  }
  __syncthreads();
  const int base = before + beforeWarp + upToLane - sum;
#pragma unroll
  for (int i = 0; i < kEach; i++) {
    if (begin + i < count) out[begin + i] = base + own[i];
  }
}
