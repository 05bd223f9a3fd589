// Normalisation of the rows of a matrix.
//
// softmax_rows(const float* x, float* out, int rows, int columns)
//   A warp per row, 4 rows per block, of up to 1024 columns, which stay in registers. Block 128, grid
//   ceil(rows / 4).
// layer_norm(const float* x, const float* scale, const float* shift, float* out, int columns,
//            float epsilon)
//   A block per row. Any block of whole warps up to 1024, grid rows.

namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kLargest = 32;  // elements of a row in one lane

__device__ __forceinline__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(kAll, value, offset);
  return __shfl_sync(kAll, value, 0);
}

__device__ __forceinline__ float warpMax(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAll, value, offset));
  }
  return value;
}

// The sum over the block, in every thread.
__device__ float blockSum(float value) {
  __shared__ float sums[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warpSum(value);
  __syncthreads();
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  return warpSum(lane < warps ? sums[lane] : 0.0f);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
softmax_rows(const float* x, float* out, int rows, int columns) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= rows) return;
  x += (size_t)row * columns;
  out += (size_t)row * columns;
  float values[kLargest];
  float highest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kLargest; i++) {
    const int column = i * 32 + lane;
    values[i] = column < columns ? x[column] : -INFINITY;
    highest = fmaxf(highest, values[i]);
  }
  highest = warpMax(highest);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kLargest; i++) {
    values[i] = expf(values[i] - highest);
    sum += values[i];
  }
  sum = warpSum(sum);
#pragma unroll
  for (int i = 0; i < kLargest; i++) {
    const int column = i * 32 + lane;
    if (column < columns) out[column] = values[i] / sum;
  }
}

extern "C" __global__ void
layer_norm(const float* x, const float* scale, const float* shift, float* out, int columns,
           float epsilon) {
  x += (size_t)blockIdx.x * columns;
  out += (size_t)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[i];
  const float mean = blockSum(sum) / columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = rsqrtf(blockSum(squares) / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[i] = (x[i] - mean) * factor * scale[i] + shift[i];
  }
}
