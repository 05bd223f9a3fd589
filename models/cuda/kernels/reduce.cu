// Reductions along one axis of a dense fp32 tensor, seen as [outer, axis, inner].
//
// reduce_mean_f32(const float* x, float* out, int outer, int axis, int inner)
//   out is [outer, inner]. An empty axis gives NaN. Block 128; grid as rows.cuh says.

#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(kRowThreads)
reduce_mean_f32(const float* __restrict__ x, float* __restrict__ out, int outer, int axis,
                int inner) {
  if ((long long)blockIdx.x * (inner == 1 ? 1 : kLanes) >= inner) return;
  __shared__ Found found;
  const int column = innerIndex(inner);
  for (int index = blockIdx.y; index < outer; index += gridDim.y) {
    const Row row(index, column, axis, inner);
    float sum = 0.0f;
    if (column < inner) {
      for (int i = row.first; i < axis; i += row.step) sum += x[row.at(i)];
    }
    sum = joinRow<Sum>(sum, inner, found);
    if (row.first == 0 && column < inner) out[(long long)index * inner + column] = sum / axis;
  }
}
