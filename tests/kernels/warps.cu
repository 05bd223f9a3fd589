// What the lanes of a warp and the warps of a block tell each other.
//
// halves(const int* x, int* out)
//   Each half of a warp reduces on its own in one instruction: out[0..5] per lane is its half's sum,
//   minimum, maximum, and, or and exclusive or. Block 32, grid 1.
// segments(const double* x, double* out)
//   Shuffles within 8 lanes, of 64 bits: out[0..3] per lane is the lane below's, the lane above's, the
//   mirror's and lane 5's number; a lane without such a neighbour keeps its own. Block 32, grid 1.
// votes(const int* x, unsigned* out)
//   Per lane: whether all, whether any, which lanes are odd; which hold the same; whether all hold the
//   same; which took the same branch. Block 32, grid 1.
// counting(const int* x, int* out, int count)
//   A barrier that counts: how many are odd, whether all are, whether any is. Threads beyond `count`
//   have left before. Block 96, grid 1.
// pipeline(const int* x, int* out, int rounds)
//   Warp 0 fills a buffer of 32 while warp 1 empties another, by named barriers: one side arrives and
//   goes on, the other waits. Block 64, grid 1.

namespace {
constexpr unsigned kAll = 0xffffffffu;
}

extern "C" __global__ void halves(const int* x, int* out) {
  const int lane = threadIdx.x;
  const unsigned members = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  const int value = x[lane];
  out[lane * 6] = __reduce_add_sync(members, value);
  out[lane * 6 + 1] = __reduce_min_sync(members, value);
  out[lane * 6 + 2] = __reduce_max_sync(members, value);
  out[lane * 6 + 3] = __reduce_and_sync(members, (unsigned)value);
  out[lane * 6 + 4] = __reduce_or_sync(members, (unsigned)value);
  out[lane * 6 + 5] = __reduce_xor_sync(members, (unsigned)value);
}

extern "C" __global__ void segments(const double* x, double* out) {
  const int lane = threadIdx.x;
  const double value = x[lane];
  out[lane * 4] = __shfl_up_sync(kAll, value, 1, 8);
  out[lane * 4 + 1] = __shfl_down_sync(kAll, value, 1, 8);
  out[lane * 4 + 2] = __shfl_xor_sync(kAll, value, 7, 8);
  out[lane * 4 + 3] = __shfl_sync(kAll, value, 5, 8);
}

extern "C" __global__ void votes(const int* x, unsigned* out) {
  const int lane = threadIdx.x;
  const int value = x[lane];
  unsigned* own = out + lane * 6;
  own[0] = __all_sync(kAll, value % 2 != 0);
  own[1] = __any_sync(kAll, value % 2 != 0);
  own[2] = __ballot_sync(kAll, value % 2 != 0);
  own[3] = __match_any_sync(kAll, value);
  int same;
  __match_all_sync(kAll, value, &same);
  own[4] = same;
  // Each branch votes among those that are in it.
  if (value % 3 == 0) {
    own[5] = __ballot_sync(__activemask(), true);
  } else {
    own[5] = __ballot_sync(__activemask(), value % 2 != 0);
  }
}

extern "C" __global__ void counting(const int* x, int* out, int count) {
  const int thread = threadIdx.x;
  if (thread >= count) return;
  const int odd = x[thread] % 2 != 0;
  out[thread * 3] = __syncthreads_count(odd);
  out[thread * 3 + 1] = __syncthreads_and(odd);
  out[thread * 3 + 2] = __syncthreads_or(odd);
}

extern "C" __global__ void pipeline(const int* x, int* out, int rounds) {
  __shared__ int buffer[2][32];
  const int lane = threadIdx.x % 32;
  // Barriers 1 and 2 say that a buffer is full, 3 and 4 that it is empty.
  if (threadIdx.x < 32) {
    for (int round = 0; round < rounds; round++) {
      const int which = round % 2;
      if (round >= 2) asm volatile("bar.sync %0, 64;" :: "r"(3 + which) : "memory");
      buffer[which][lane] = x[round * 32 + lane] + round;
      asm volatile("bar.arrive %0, 64;" :: "r"(1 + which) : "memory");
    }
  } else {
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
      const int which = round % 2;
      asm volatile("bar.sync %0, 64;" :: "r"(1 + which) : "memory");
      sum += buffer[which][31 - lane];
      if (round + 2 < rounds) asm volatile("bar.arrive %0, 64;" :: "r"(3 + which) : "memory");
    }
    out[lane] = sum;
  }
}
