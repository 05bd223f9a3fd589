// Attention of one new token over a cache of keys and values, split along the cache.
//
// decode_attention(const float* query, const half* keys, const half* values, const int* lengths,
//                  float* partial, int heads, int sharedBy, int capacity, float scale)
//   query is [sequences, heads, 64]; keys and values are [sequences, heads / sharedBy, capacity, 64],
//   of which the first lengths[sequence] count. partial gets [sequences, heads, splits, 66]: 64 sums,
//   the largest score, the sum of powers. Block 128, grid (heads, splits, sequences).
// combine_splits(const float* partial, float* out, int splits)
//   out is [sequences, heads, 64]. Block 64, grid sequences * heads.

#include <cuda_fp16.h>

namespace {

constexpr int kWidth = 64;  // of a head
constexpr int kWarps = 4;
constexpr unsigned kAll = 0xffffffffu;

// Softmax as it goes along: what was summed is scaled down whenever a larger score comes.
struct Running {
  float highest = -INFINITY, powers = 0.0f;
  float2 sum = {0.0f, 0.0f};

  __device__ void add(float score, float weight, float2 value) {
    const float next = fmaxf(highest, score);
    // Nothing yet on both sides: the difference of two infinities is no number.
    const float before = highest == -INFINITY ? 0.0f : expf(highest - next);
    const float now = score == -INFINITY ? 0.0f : expf(score - next);
    powers = powers * before + weight * now;
    sum.x = sum.x * before + value.x * now;
    sum.y = sum.y * before + value.y * now;
    highest = next;
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps * 32)
decode_attention(const float* query, const half* keys, const half* values, const int* lengths,
                 float* partial, int heads, int sharedBy, int capacity, float scale) {
  __shared__ Running found[kWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int head = blockIdx.x, split = blockIdx.y, sequence = blockIdx.z;
  const int length = lengths[sequence];
  const int perSplit = (length + gridDim.y - 1) / gridDim.y;
  const int end = min(length, (split + 1) * perSplit);
  const size_t cache = (size_t)(sequence * (heads / sharedBy) + head / sharedBy) * capacity * kWidth;
  const size_t row = (size_t)(sequence * heads + head);
  const float2 ofQuery = reinterpret_cast<const float2*>(query + row * kWidth)[lane];

  Running running;
  for (int position = split * perSplit + warp; position < end; position += kWarps) {
    const size_t at = (cache + (size_t)position * kWidth) / 2 + lane;
    const float2 key = __half22float2(reinterpret_cast<const half2*>(keys)[at]);
    float score = ofQuery.x * key.x + ofQuery.y * key.y;
    for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(kAll, score, offset);
    const float2 value = __half22float2(reinterpret_cast<const half2*>(values)[at]);
    running.add(score * scale, 1.0f, value);
  }
  found[warp][lane] = running;
  __syncthreads();
  if (warp != 0) return;
  for (int i = 1; i < kWarps; i++) {
    running.add(found[i][lane].highest, found[i][lane].powers, found[i][lane].sum);
  }
  float* out = partial + (row * gridDim.y + split) * (kWidth + 2);
  out[lane * 2] = running.sum.x;
  out[lane * 2 + 1] = running.sum.y;
  if (lane == 0) {
    out[kWidth] = running.highest;
    out[kWidth + 1] = running.powers;
  }
}

extern "C" __global__ void combine_splits(const float* partial, float* out, int splits) {
  partial += (size_t)blockIdx.x * splits * (kWidth + 2);
  float highest = -INFINITY;
  for (int i = 0; i < splits; i++) highest = fmaxf(highest, partial[i * (kWidth + 2) + kWidth]);
  float sum = 0.0f, powers = 0.0f;
  for (int i = 0; i < splits; i++) {
    const float* one = partial + i * (kWidth + 2);
    const float factor = expf(one[kWidth] - highest);
    sum += one[threadIdx.x] * factor;
    powers += one[kWidth + 1] * factor;
  }
  out[(size_t)blockIdx.x * kWidth + threadIdx.x] = sum / powers;
}
