// NVIDIA's CUB: primitives of a block, and a device-wide sum as the library's own kernels do it.
//
// block_sort(const int* keys, int* sorted, int* places, int count)
//   Sorts up to 512 keys and says where each came from. Block 128, grid 1.
// block_scan(const int* x, int* out, int* total, int count)
//   Exclusive prefix sums of up to 512 numbers. Block 128, grid 1.
// block_reduce(const float* x, float* sum, float* highest, int count)
//   A sum and a maximum per block of 128 numbers, any grid.
// block_histogram(const unsigned char* x, unsigned* counts, int count)
//   Of up to 512 bytes below 32, by sorting. Block 128, grid 1.
// warp_merge_sort(const float* x, float* out, int count)
//   Sorts up to 128 numbers, falling. Block 32, grid 1.

#include <cub/cub.cuh>

namespace {
constexpr int kThreads = 128, kEach = 4;
}

extern "C" __global__ void __launch_bounds__(kThreads)
block_sort(const int* keys, int* sorted, int* places, int count) {
  using Load = cub::BlockLoad<int, kThreads, kEach, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kEach, int>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } storage;
  int key[kEach], place[kEach];
  Load(storage.load).Load(keys, key, count, INT_MAX);
  for (int i = 0; i < kEach; i++) place[i] = threadIdx.x * kEach + i;
  __syncthreads();
  Sort(storage.sort).Sort(key, place);
  for (int i = 0; i < kEach; i++) {
    const int at = threadIdx.x * kEach + i;
    if (at < count) {
      sorted[at] = key[i];
      places[at] = place[i];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
block_scan(const int* x, int* out, int* total, int count) {
  using Load = cub::BlockLoad<int, kThreads, kEach, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  using Store = cub::BlockStore<int, kThreads, kEach, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } storage;
  int value[kEach], sum;
  Load(storage.load).Load(x, value, count, 0);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(value, value, sum);
  __syncthreads();
  Store(storage.store).Store(out, value, count);
  if (threadIdx.x == 0) *total = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
block_reduce(const float* x, float* sum, float* highest, int count) {
  using Reduce = cub::BlockReduce<float, kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  using Raking = cub::BlockReduce<float, kThreads, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ typename Raking::TempStorage raking;
  const int at = blockIdx.x * kThreads + threadIdx.x;
  const float value = at < count ? x[at] : 0.0f;
  const float all = Reduce(storage).Sum(value);
  const float most = Raking(raking).Reduce(at < count ? value : -INFINITY, cuda::maximum<>{});
  if (threadIdx.x == 0) {
    sum[blockIdx.x] = all;
    highest[blockIdx.x] = most;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
block_histogram(const unsigned char* x, unsigned* counts, int count) {
  using Histogram =
      cub::BlockHistogram<unsigned char, kThreads, kEach, 33, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned found[33];
  unsigned char value[kEach];
  for (int i = 0; i < kEach; i++) {
    const int at = threadIdx.x + i * kThreads;
    value[i] = at < count ? x[at] : 32;
  }
  Histogram(storage).Histogram(value, found);
  __syncthreads();
  if (threadIdx.x < 32) counts[threadIdx.x] = found[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(32)
warp_merge_sort(const float* x, float* out, int count) {
  using Sort = cub::WarpMergeSort<float, kEach>;
  __shared__ typename Sort::TempStorage storage;
  float value[kEach];
  for (int i = 0; i < kEach; i++) {
    const int at = threadIdx.x * kEach + i;
    value[i] = at < count ? x[at] : -INFINITY;
  }
  Sort(storage).Sort(value, [](float a, float b) { return a > b; });
  for (int i = 0; i < kEach; i++) {
    const int at = threadIdx.x * kEach + i;
    if (at < count) out[at] = value[i];
  }
}
