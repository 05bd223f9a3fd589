// Matrix products in fp32.
//
//   c = activation(alpha * op(a) * op(b) + beta * bias)
//
// Row-major. op(a) is m x k, op(b) is k x n, c is m x n, each dense; a transposed operand lies in
// memory as k x m, or n x k. Accumulation is in fp32 with fused multiply-add.
//
// Both kernels have the parameters
//   const float* a, const float* b,
//   const float* bias     0 where there is none; element (row, column) is
//                         bias[row * biasRow + column * biasColumn]
//   float* c              overlaps neither operand
//   int m, int n, int k   k may be 0: the product is then 0
//   int flags             bit 0: a is transposed; bit 1: b is transposed; bits 8 and up: activation
//   float alpha, float beta
//   int biasRow, int biasColumn
//   long long strideA, long long strideB, long long strideC
//                         elements from one matrix of a batch to the next; 0 shares an operand
//
// gemm_f32:          block 256, grid (ceil(n / 64), ceil(m / 64), batch).
// gemm_f32_few_rows: m <= 8 only; block 128, grid (ceil(n / 32), 1, batch). Fewer blocks along x are
//                    right as well: each goes on to further columns.
//
// A grid is at most 65535 high and deep: more rows than 64 times that, and more matrices, take several
// launches.

#include "activation.cuh"

namespace {

enum Flags { kTransposedA = 1, kTransposedB = 2, kActivationShift = 8 };

struct Epilogue {
  const float* bias;
  float alpha, beta;
  int biasRow, biasColumn, activation;

  __device__ float operator()(float product, int row, int column) const {
    float value = alpha * product;
    if (bias != nullptr) {
      value = fmaf(beta, bias[(long long)row * biasRow + (long long)column * biasColumn], value);
    }
    return activate(value, activation);
  }
};

// One operand of the product, as elements (k, x): x is a row of op(a) or a column of op(b).
struct Operand {
  const float* data;
  long long strideK, strideX;
  int extentK, extentX;
};

constexpr int kTile = 64;      // rows and columns of c per block
constexpr int kDepth = 16;     // of k per step
constexpr int kThreads = 256;  // each computes 4 x 4 elements of c
// Four floats of padding keep rows 16-byte aligned and spread a column over the banks.
constexpr int kPitch = kTile + 4;

using Tile = float[kDepth][kPitch];

// The results go out through the memory of the operands, so that neighbouring threads store
// neighbouring elements and the epilogue is one loop.
union TileMemory {
  struct {
    Tile a[2], b[2];
  } operands;
  float results[kTile][kPitch];
};

__device__ __forceinline__ unsigned sharedAddress(const void* pointer) {
  return (unsigned)__cvta_generic_to_shared(pointer);
}

// Copies `bytes` of 4 (of 16), and fills the rest with zeros: ragged edges need no other case.
__device__ __forceinline__ void copy4(float* to, const float* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :: "r"(sharedAddress(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy16(float* to, const float* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(sharedAddress(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Begins to copy the tile at (k0, x0). Neighbouring threads read neighbouring addresses whichever
// way the operand lies.
__device__ __forceinline__ void copyTile(Tile& tile, const Operand& from, int k0, int x0) {
  const int thread = threadIdx.x;
  const bool alongX = from.strideX == 1;
  const bool aligned =
      alongX && (from.strideK & 3) == 0 && ((unsigned long long)from.data & 15) == 0;
  if (aligned) {
    const int k = thread / (kTile / 4), x = thread % (kTile / 4) * 4;
    const int left = k0 + k < from.extentK ? min(max(from.extentX - (x0 + x), 0), 4) : 0;
    const float* source =
        left > 0 ? from.data + (k0 + k) * from.strideK + (x0 + x) : from.data;
    copy16(&tile[k][x], source, left * 4);
    return;
  }
#pragma unroll
  for (int i = 0; i < kTile * kDepth / kThreads; i++) {
    const int at = thread + i * kThreads;
    const int k = alongX ? at / kTile : at % kDepth;
    const int x = alongX ? at % kTile : at / kDepth;
    const bool inside = k0 + k < from.extentK && x0 + x < from.extentX;
    const float* source =
        inside ? from.data + (k0 + k) * from.strideK + (x0 + x) * from.strideX : from.data;
    copy4(&tile[k][x], source, inside ? 4 : 0);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
gemm_f32(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
         float* __restrict__ c, int m, int n, int k, int flags, float alpha, float beta,
         int biasRow, int biasColumn, long long strideA, long long strideB, long long strideC) {
  __shared__ alignas(16) TileMemory memory;
  Tile* const tileA = memory.operands.a;
  Tile* const tileB = memory.operands.b;

  const Operand operandA = {a + blockIdx.z * strideA, flags & kTransposedA ? m : 1,
                            flags & kTransposedA ? 1 : k, k, m};
  const Operand operandB = {b + blockIdx.z * strideB, flags & kTransposedB ? 1 : n,
                            flags & kTransposedB ? k : 1, k, n};
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  const int steps = (k + kDepth - 1) / kDepth;

  float sum[4][4] = {};
  if (steps > 0) {
    copyTile(tileA[0], operandA, 0, row0);
    copyTile(tileB[0], operandB, 0, column0);
  }
  for (int step = 0; step < steps; step++) {
    const int now = step & 1;
    waitForCopies();
    // This step's tiles are there for all, and nobody reads the last step's any more.
    __syncthreads();
    if (step + 1 < steps) {
      copyTile(tileA[now ^ 1], operandA, (step + 1) * kDepth, row0);
      copyTile(tileB[now ^ 1], operandB, (step + 1) * kDepth, column0);
    }
#pragma unroll
    for (int i = 0; i < kDepth; i++) {
      const float4 fourA = *reinterpret_cast<const float4*>(&tileA[now][i][row]);
      const float4 fourB = *reinterpret_cast<const float4*>(&tileB[now][i][column]);
      const float ofA[4] = {fourA.x, fourA.y, fourA.z, fourA.w};
      const float ofB[4] = {fourB.x, fourB.y, fourB.z, fourB.w};
#pragma unroll
      for (int y = 0; y < 4; y++) {
#pragma unroll
        for (int x = 0; x < 4; x++) sum[y][x] = fmaf(ofA[y], ofB[x], sum[y][x]);
      }
    }
  }

  // All have read the last operands.
  __syncthreads();
#pragma unroll
  for (int y = 0; y < 4; y++) {
    *reinterpret_cast<float4*>(&memory.results[row + y][column]) =
        make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
  }
  __syncthreads();
  const Epilogue epilogue = {bias, alpha, beta, biasRow, biasColumn, flags >> kActivationShift};
  const int outColumn = column0 + threadIdx.x % kTile;
  if (outColumn >= n) return;
  float* out = c + blockIdx.z * strideC + outColumn;
#pragma unroll 1
  for (int y = threadIdx.x / kTile; y < min(kTile, m - row0); y += kThreads / kTile) {
    const float product = memory.results[y][threadIdx.x % kTile];
    out[(long long)(row0 + y) * n] = epilogue(product, row0 + y, outColumn);
  }
}

namespace {

constexpr int kFewRows = 8;
constexpr int kColumns = 32;      // of c per block: one per lane
constexpr int kWarps = 4;         // share out k among them
constexpr int kFewDepth = 128;    // of k per step, 32 for each warp
constexpr int kFewThreads = kColumns * kWarps;

}  // namespace

// With so few rows the time goes into reading b, once: each element goes straight into a register of
// the lane that owns its column. Only a transposed b, whose columns are contiguous, is turned in
// shared memory first.
extern "C" __global__ void __launch_bounds__(kFewThreads)
gemm_f32_few_rows(const float* __restrict__ a, const float* __restrict__ b,
                  const float* __restrict__ bias, float* __restrict__ c, int m, int n, int k,
                  int flags, float alpha, float beta, int biasRow, int biasColumn,
                  long long strideA, long long strideB, long long strideC) {
  __shared__ float rows[kFewRows][kFewDepth];
  __shared__ float columns[kColumns][kFewDepth + 1];  // odd pitch: lanes read different banks
  __shared__ float partial[kWarps][kFewRows][kColumns];

  a += blockIdx.z * strideA;
  b += blockIdx.z * strideB;
  c += blockIdx.z * strideC;
  const int thread = threadIdx.x, lane = thread % kColumns, warp = thread / kColumns;
  const bool transposedA = flags & kTransposedA, transposedB = flags & kTransposedB;
  const Epilogue epilogue = {bias, alpha, beta, biasRow, biasColumn, flags >> kActivationShift};

  for (int column0 = blockIdx.x * kColumns; column0 < n; column0 += gridDim.x * kColumns) {
    const int column = column0 + lane;
    float sum[kFewRows] = {};
    int k0 = 0;
    // Once even for k = 0: the barriers also keep the sums of the columns before apart from these.
    do {
      const int depth = k0 + thread;
#pragma unroll
      for (int row = 0; row < kFewRows; row++) {
        rows[row][thread] = row < m && depth < k
            ? a[transposedA ? (long long)depth * m + row : (long long)row * k + depth] : 0.0f;
      }
      if (transposedB) {
#pragma unroll 8
        for (int x = 0; x < kColumns; x++) {
          columns[x][thread] = column0 + x < n && depth < k
              ? b[(long long)(column0 + x) * k + depth] : 0.0f;
        }
      }
      __syncthreads();
#pragma unroll 8
      for (int i = 0; i < kColumns; i++) {
        const int at = warp * kColumns + i;
        float ofB = 0.0f;
        if (transposedB) {
          ofB = columns[lane][at];
        } else if (column < n && k0 + at < k) {
          ofB = b[(long long)(k0 + at) * n + column];
        }
#pragma unroll
        for (int row = 0; row < kFewRows; row++) sum[row] = fmaf(rows[row][at], ofB, sum[row]);
      }
      __syncthreads();
      k0 += kFewDepth;
    } while (k0 < k);
#pragma unroll
    for (int row = 0; row < kFewRows; row++) partial[warp][row][lane] = sum[row];
    __syncthreads();
#pragma unroll 1
    for (int row = warp; row < m; row += kWarps) {
      if (column < n) {
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < kWarps; i++) total += partial[i][row][lane];
        c[(long long)row * n + column] = epilogue(total, row, column);
      }
    }
  }
}
