// Softmax along one axis of a dense fp32 tensor, seen as [outer, axis, inner].
//
// softmax_f32(const float* x, float* out, int outer, int axis, int inner)
//   out has the shape of x and may be x. Block 128; grid as rows.cuh says.
//
// The row's maximum is subtracted first, so that no exponential overflows.

#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(kRowThreads)
softmax_f32(const float* x, float* out, int outer, int axis, int inner) {
  if ((long long)blockIdx.x * (inner == 1 ? 1 : kLanes) >= inner) return;
  __shared__ Found found;
  const int column = innerIndex(inner);
  for (int index = blockIdx.y; index < outer; index += gridDim.y) {
    const Row row(index, column, axis, inner);
    const int end = column < inner ? axis : 0;

    float highest = Max::identity();
    for (int i = row.first; i < end; i += row.step) highest = Max::join(highest, x[row.at(i)]);
    highest = joinRow<Max>(highest, inner, found);

    float sum = 0.0f;
#pragma unroll 2
    for (int i = row.first; i < end; i += row.step) {
      const float power = expf(x[row.at(i)] - highest);
      out[row.at(i)] = power;
      sum += power;
    }
    sum = joinRow<Sum>(sum, inner, found);
    for (int i = row.first; i < end; i += row.step) out[row.at(i)] /= sum;
  }
}
