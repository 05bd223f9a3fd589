// fp32 matrix product c = a * b, row-major, any size.
//
// sgemm(const float* a, const float* b, float* c, int m, int n, int k)
//   64 x 64 tiles; the next ones wait in registers while these are multiplied. Block (16, 16), grid
//   (ceil(n / 64), ceil(m / 64)).
// sgemm_naive: the same without tiles. Block (32, 4), grid (ceil(n / 32), ceil(m / 4)).

namespace {
constexpr int kTile = 64, kDepth = 16, kThreads = 256, kEach = kTile * kDepth / kThreads;
}

extern "C" __global__ void __launch_bounds__(kThreads)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
      int k) {
  __shared__ float tileA[kDepth][kTile + 1];
  __shared__ float tileB[kDepth][kTile];
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
      float fourA[4], fourB[4];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        fourA[j] = tileA[i][threadIdx.y + j * 16];
        fourB[j] = tileB[i][threadIdx.x + j * 16];
      }
#pragma unroll
      for (int y = 0; y < 4; y++) {
#pragma unroll
        for (int x = 0; x < 4; x++) sum[y][x] += fourA[y] * fourB[x];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < 4; y++) {
#pragma unroll
    for (int x = 0; x < 4; x++) {
      const int row = row0 + threadIdx.y + y * 16, column = column0 + threadIdx.x + x * 16;
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
