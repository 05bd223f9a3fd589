// How reductions along one axis of a dense tensor, seen as [outer, axis, inner], share out the work.
//
// A block has 128 threads. With inner = 1 the axis is contiguous: all 128 walk along one row and
// join by shuffles, then through shared memory. Otherwise the 32 lanes of a warp take 32 neighbours
// along inner, so that reads stay coalesced, and the 4 warps share out the axis.
//
// Grid (ceil(inner / 32), min(outer, 65535)): blocks beyond the tensor do nothing, and a block goes on
// to further outer rows where there are fewer blocks than rows.
#pragma once

constexpr int kRowThreads = 128;
constexpr int kLanes = 32;
constexpr int kRowWarps = kRowThreads / kLanes;

struct Sum {
  static __device__ float identity() { return 0.0f; }
  static __device__ float join(float a, float b) { return a + b; }
};

// A NaN wins: fmaxf would drop it, and the row's result would look sound.
struct Max {
  static __device__ float identity() { return __int_as_float(0xff800000); }
  static __device__ float join(float a, float b) { return a > b || a != a ? a : b; }
};

// What this thread sees of one row: elements first, first + step, ... of `axis`, `pitch` apart.
struct Row {
  int first, step;
  long long begin, pitch;

  __device__ Row(int outerIndex, int innerIndex, int axis, int inner)
      : first(inner == 1 ? threadIdx.x : threadIdx.x / kLanes),
        step(inner == 1 ? kRowThreads : kRowWarps),
        begin((long long)outerIndex * axis * inner + innerIndex),
        pitch(inner) {}

  __device__ long long at(int index) const { return begin + index * pitch; }
};

// The index along inner that this thread has a part in; may lie beyond the tensor.
__device__ __forceinline__ int innerIndex(int inner) {
  return inner == 1 ? blockIdx.x : blockIdx.x * kLanes + threadIdx.x % kLanes;
}

// Where the threads of a block tell each other what they have found.
using Found = float[kRowWarps][kLanes];

// Joins what the threads of one row have found; every thread gets the result. All threads of the
// block must call it.
template <typename Operation>
__device__ __forceinline__ float joinRow(float value, int inner, Found& found) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  if (inner == 1) {
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
  }
  // Nobody may still be reading what an earlier call left there.
  __syncthreads();
  found[warp][lane] = value;
  __syncthreads();
  float all = Operation::identity();
#pragma unroll
  for (int i = 0; i < kRowWarps; i++) all = Operation::join(all, found[i][lane]);
  return all;
}
