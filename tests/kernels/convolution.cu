// 2D convolutions, NCHW, fp32.
//
// conv2d(const float* x, const float* weights, const float* bias, float* out, Shape shape)
//   A thread per element of out, a block per output channel of one image; the channel's weights lie in
//   dynamic shared memory. Block 128, grid (ceil(outH * outW / 128), channelsOut, images), shared
//   channelsIn * kernel * kernel * 4 bytes.
// depthwise(const float* x, const float* weights, const float* bias, float* out, Shape shape)
//   channelsOut = channelsIn. A block computes 16 x 16 elements from a tile with its border, which
//   lies in dynamic shared memory. Block (16, 16), grid (ceil(outW / 16), ceil(outH / 16),
//   images * channels), shared (15 * stride + kernel)^2 * 4 bytes.

struct Shape {
  int channelsIn, height, width, channelsOut, kernel, stride, padding, outHeight, outWidth;
};

extern __shared__ float dynamicShared[];

extern "C" __global__ void
conv2d(const float* x, const float* weights, const float* bias, float* out, Shape shape) {
  const int size = shape.channelsIn * shape.kernel * shape.kernel;
  const int channel = blockIdx.y;
  for (int i = threadIdx.x; i < size; i += blockDim.x) dynamicShared[i] = weights[channel * size + i];
  __syncthreads();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= shape.outHeight * shape.outWidth) return;
  const int top = at / shape.outWidth * shape.stride - shape.padding;
  const int left = at % shape.outWidth * shape.stride - shape.padding;
  float sum = bias[channel];
  for (int c = 0; c < shape.channelsIn; c++) {
    const float* plane =
        x + (size_t)(blockIdx.z * shape.channelsIn + c) * shape.height * shape.width;
    for (int i = 0; i < shape.kernel; i++) {
      for (int j = 0; j < shape.kernel; j++) {
        const int row = top + i, column = left + j;
        if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
        sum += plane[row * shape.width + column] *
               dynamicShared[(c * shape.kernel + i) * shape.kernel + j];
      }
    }
  }
  const size_t plane = (size_t)blockIdx.z * shape.channelsOut + channel;
  out[plane * shape.outHeight * shape.outWidth + at] = sum;
}

extern "C" __global__ void
depthwise(const float* x, const float* weights, const float* bias, float* out, Shape shape) {
  const int side = 15 * shape.stride + shape.kernel;
  const int channel = blockIdx.z % shape.channelsIn;
  const int top = blockIdx.y * 16 * shape.stride - shape.padding;
  const int left = blockIdx.x * 16 * shape.stride - shape.padding;
  x += (size_t)blockIdx.z * shape.height * shape.width;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < side * side; i += 256) {
    const int row = top + i / side, column = left + i % side;
    const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
    dynamicShared[i] = inside ? x[row * shape.width + column] : 0.0f;
  }
  __syncthreads();
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= shape.outHeight || column >= shape.outWidth) return;
  float sum = bias[channel];
  for (int i = 0; i < shape.kernel; i++) {
    for (int j = 0; j < shape.kernel; j++) {
      sum += dynamicShared[(threadIdx.y * shape.stride + i) * side + threadIdx.x * shape.stride + j] *
             weights[(channel * shape.kernel + i) * shape.kernel + j];
    }
  }
  out[((size_t)blockIdx.z * shape.outHeight + row) * shape.outWidth + column] = sum;
}
