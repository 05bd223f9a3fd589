/**
 * 2D convolutions in fp64, NCHW.
 *
 * @module
 */

/** Sizes of a convolution with a square kernel, the same stride and padding on all sides. */
export interface ConvolutionShape {
  /** Number of images. */
  readonly images: number;
  /** Channels of the input. */
  readonly channelsIn: number;
  /** Height of the input. */
  readonly height: number;
  /** Width of the input. */
  readonly width: number;
  /** Channels of the result. */
  readonly channelsOut: number;
  /** Rows and columns of the kernel. */
  readonly kernel: number;
  /** Rows and columns from one place of the kernel to the next. */
  readonly stride: number;
  /** Zeros around the input. */
  readonly padding: number;
}

/** Rows, or columns, of the result. */
export function extentOut(extent: number, { kernel, stride, padding }: ConvolutionShape): number {
  return Math.floor((extent + 2 * padding - kernel) / stride) + 1;
}

/**
 * Convolves.
 *
 * @param depthwise Whether each channel is convolved alone; otherwise all go into each result.
 */
export function convolve(
  x: ArrayLike<number>,
  weights: ArrayLike<number>,
  bias: ArrayLike<number>,
  shape: ConvolutionShape,
  depthwise: boolean,
): Float64Array {
  const { images, channelsIn, height, width, channelsOut, kernel, stride, padding } = shape;
  const outHeight = extentOut(height, shape), outWidth = extentOut(width, shape);
  const result = new Float64Array(images * channelsOut * outHeight * outWidth);
  let index = 0;
  for (let image = 0; image < images; image++) {
    for (let channel = 0; channel < channelsOut; channel++) {
      const from = depthwise ? [channel] : Array.from({ length: channelsIn }, (_, c) => c);
      for (let y = 0; y < outHeight; y++) {
        for (let z = 0; z < outWidth; z++) {
          let sum = bias[channel];
          from.forEach((c, place) => {
            for (let i = 0; i < kernel; i++) {
              for (let j = 0; j < kernel; j++) {
                const row = y * stride - padding + i, column = z * stride - padding + j;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                sum += x[((image * channelsIn + c) * height + row) * width + column] *
                  weights[((channel * from.length + place) * kernel + i) * kernel + j];
              }
            }
          });
          result[index++] = sum;
        }
      }
    }
  }
  return result;
}
