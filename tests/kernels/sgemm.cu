// fp32 matrix product c = a * b, row-major, any size.
//
// sgemm(const float* a, const float* b, float* c, int m, int n, int k)
//   64 x 64 tiles; the next ones wait in registers while these are multiplied. Each thread reads four
//   elements at a time from them. Block (16, 16), grid (ceil(n / 64), ceil(m / 64)).
// sgemm_naive: the same without tiles. Block (32, 4), grid (ceil(n / 32), ceil(m / 4)).

namespace {
constexpr int kTile = 64, kDepth = 16, kThreads = 256, kEach = kTile * kDepth / kThreads;
// Rows stay 16-byte aligned, and a column lies across the banks.
constexpr int kPitch = kTile + 4;
}

extern "C" __global__ void __launch_bounds__(kThreads)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
      int k) {
  __shared__ alignas(16) float tileA[kDepth][kPitch];
  __shared__ alignas(16) float tileB[kDepth][kTile];
  const int thread = threadIdx.y * 16 + threadIdx.x;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;

  float nextA[kEach], nextB[kEach];
  auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kEach; i++) {
      const int at = thread + i * kThreads;
      const int row = row0 + at / kDepth, depthA = k0 + at % kDepth;
      const int depthB = k0 + at / kTile, column = column0 + at % kTile;
      nextA[i] = row < m && depthA < k ? a[(size_t)row * k + depthA] : 0.0f;
      nextB[i] = depthB < k && column < n ? b[(size_t)depthB * n + column] : 0.0f;
    }
  };

  float sum[4][4] = {};
  fetch(0);
  for (int k0 = 0; k0 < k; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < kEach; i++) {
      const int at = thread + i * kThreads;
      tileA[at % kDepth][at / kDepth] = nextA[i];
      tileB[at / kTile][at % kTile] = nextB[i];
    }
    __syncthreads();
    fetch(k0 + kDepth);
#pragma unroll
    for (int i = 0; i < kDepth; i++) {
      const float4 fourA = *reinterpret_cast<const float4*>(&tileA[i][threadIdx.y * 4]);
      const float4 fourB = *reinterpret_cast<const float4*>(&tileB[i][threadIdx.x * 4]);
      const float rows[4] = {fourA.x, fourA.y, fourA.z, fourA.w};
      const float columns[4] = {fourB.x, fourB.y, fourB.z, fourB.w};
#pragma unroll
      for (int y = 0; y < 4; y++) {
#pragma unroll
        for (int x = 0; x < 4; x++) sum[y][x] += rows[y] * columns[x];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < 4; y++) {
#pragma unroll
    for (int x = 0; x < 4; x++) {
      const int row = row0 + threadIdx.y * 4 + y, column = column0 + threadIdx.x * 4 + x;
      if (row < m && column < n) c[(size_t)row * n + column] = sum[y][x];
    }
  }
}

extern "C" __global__ void
sgemm_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; i++) sum += a[(size_t)row * k + i] * b[(size_t)i * n + column];
  c[(size_t)row * n + column] = sum;
}
