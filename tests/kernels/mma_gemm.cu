// Matrix products on tensor cores: c = a * b with operands of 16 bits and sums in fp32.
//
// mma_gemm_f16(const half* a, const half* b, float* c, int m, int n, int k)
// mma_gemm_bf16(const bfloat16* a, const bfloat16* b, float* c, int m, int n, int k)
//   Row-major, any size. Block 128, grid (ceil(n / 64), ceil(m / 64)).
//
// Each of four warps computes 32 x 32 elements by mma.m16n8k16. Tiles are copied asynchronously, the
// next ones while these are multiplied; rows are padded so that ldmatrix meets no bank twice.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "async_copy.cuh"

namespace {

constexpr int kTile = 64, kDepth = 32, kThreads = 128;
constexpr int kPitchA = kDepth + 8, kPitchB = kTile + 8;

// Copies a rows x columns tile of a matrix into shared memory, zeros beyond its edges.
template <int Rows, int Columns, int Pitch, typename T>
__device__ __forceinline__ void copyTile(T (&tile)[Rows][Pitch], const T* from, int rows, int columns,
                                         int row0, int column0) {
  constexpr int kGroup = 16 / sizeof(T), kGroups = Columns / kGroup;
#pragma unroll
  for (int i = 0; i < Rows * kGroups / kThreads; i++) {
    const int at = threadIdx.x + i * kThreads;
    const int row = at / kGroups, column = at % kGroups * kGroup;
    const bool inRow = row0 + row < rows;
    const T* source = from + (size_t)(row0 + row) * columns + column0 + column;
    if (columns % kGroup == 0) {
      const bool inside = inRow && column0 + column < columns;
      copyAsync16(&tile[row][column], inside ? source : from, inside ? 16 : 0);
    } else {
#pragma unroll 1
      for (int j = 0; j < kGroup; j++) {
        tile[row][column + j] = inRow && column0 + column + j < columns ? source[j] : T(0.0f);
      }
    }
  }
}

__device__ __forceinline__ void loadMatrix(unsigned (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(sharedAddress(from)));
}
__device__ __forceinline__ void loadTransposed(unsigned (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(sharedAddress(from)));
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, half) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, __nv_bfloat16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <typename T>
__device__ __forceinline__ void gemm(const T* a, const T* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) T tileA[2][kTile][kPitchA];
  __shared__ alignas(16) T tileB[2][kDepth][kPitchB];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warpRow = warp / 2 * 32, warpColumn = warp % 2 * 32;
  const int steps = (k + kDepth - 1) / kDepth;

  auto begin = [&](int step) {
    if (step < steps) {
      copyTile<kTile, kDepth, kPitchA>(tileA[step & 1], a, m, k, row0, step * kDepth);
      copyTile<kDepth, kTile, kPitchB>(tileB[step & 1], b, k, n, step * kDepth, column0);
    }
    // A group even where there is nothing to copy, so that the count below holds at the end.
    commitCopies();
  };

  float sum[2][4][4] = {};
  begin(0);
  for (int step = 0; step < steps; step++) {
    begin(step + 1);
    waitForCopies<1>();
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kDepth; depth += 16) {
      unsigned ofA[2][4], ofB[2][4];
      const int matrixRow = lane % 16, matrixColumn = lane / 16 * 8;
#pragma unroll
      for (int i = 0; i < 2; i++) {
        loadMatrix(ofA[i], &tileA[step & 1][warpRow + i * 16 + matrixRow][depth + matrixColumn]);
        loadTransposed(ofB[i],
                       &tileB[step & 1][depth + matrixRow][warpColumn + i * 16 + matrixColumn]);
      }
#pragma unroll
      for (int y = 0; y < 2; y++) {
#pragma unroll
        for (int x = 0; x < 4; x++) {
          multiply(sum[y][x], ofA[y], ofB[x / 2][x % 2 * 2], ofB[x / 2][x % 2 * 2 + 1], T());
        }
      }
    }
    // The next step's copies go where this one's operands are.
    __syncthreads();
  }

#pragma unroll
  for (int y = 0; y < 2; y++) {
#pragma unroll
    for (int x = 0; x < 4; x++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int row = row0 + warpRow + y * 16 + lane / 4 + i / 2 * 8;
        const int column = column0 + warpColumn + x * 8 + lane % 4 * 2 + i % 2;
        if (row < m && column < n) c[(size_t)row * n + column] = sum[y][x][i];
      }
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
mma_gemm_f16(const half* a, const half* b, float* c, int m, int n, int k) {
  gemm(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(kThreads)
mma_gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k) {
  gemm(a, b, c, m, n, k);
}
