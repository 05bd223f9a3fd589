/**
 * Cases of convolution.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { input, output, struct } from "../gpu.ts";
import { uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { type ConvolutionShape, convolve, extentOut } from "../references/convolution.ts";

/** Full and depthwise convolutions. */
export const convolutionCases: readonly KernelCase[] = [
  ...[
    [2, 3, 11, 13, 4, 3, 1, 1],
    [1, 5, 9, 9, 3, 1, 1, 0],
    [1, 2, 14, 10, 2, 5, 2, 2],
  ].map((sizes) => convolutionCase(shapeOf(sizes), false)),
  ...[
    [2, 3, 19, 37, 3, 3, 1, 1],
    [1, 2, 33, 20, 2, 5, 2, 2],
    [1, 1, 3, 3, 1, 3, 1, 0],
  ].map((sizes) => convolutionCase(shapeOf(sizes), true)),
];

function shapeOf(sizes: readonly number[]): ConvolutionShape {
  const [images, channelsIn, height, width, channelsOut, kernel, stride, padding] = sizes;
  return { images, channelsIn, height, width, channelsOut, kernel, stride, padding };
}

function convolutionCase(shape: ConvolutionShape, depthwise: boolean): KernelCase {
  const { images, channelsIn, height, width, channelsOut, kernel, stride, padding } = shape;
  const outHeight = extentOut(height, shape), outWidth = extentOut(width, shape);
  const name = depthwise ? "depthwise" : "conv2d";
  return {
    name: `${name}, ${Object.entries(shape).map(([key, value]) => `${key} ${value}`).join(", ")}`,
    module: "convolution",
    async run(gpu, ptx) {
      const x = uniform(images * channelsIn * height * width, 1);
      const weights = uniform(channelsOut * (depthwise ? 1 : channelsIn) * kernel * kernel, 2);
      const bias = uniform(channelsOut, 3);
      const out = output(new Float32Array(images * channelsOut * outHeight * outWidth));
      await gpu.run(ptx, [{
        kernel: name,
        ...(depthwise
          ? {
            grid: [Math.ceil(outWidth / 16), Math.ceil(outHeight / 16), images * channelsOut],
            block: [16, 16],
            sharedBytes: (15 * stride + kernel) ** 2 * 4,
          }
          : {
            grid: [Math.ceil(outHeight * outWidth / 128), channelsOut, images],
            block: [128],
            sharedBytes: channelsIn * kernel * kernel * 4,
          }),
        arguments: [
          input(x),
          input(weights),
          input(bias),
          out,
          struct([
            ...[channelsIn, height, width, channelsOut, kernel, stride, padding],
            ...[outHeight, outWidth],
          ]),
        ],
      }]);
      const expected = convolve(x, weights, bias, shape, depthwise);
      assertClose(out.data, expected, { relative: 1e-6, ofLargest: 1e-6 }, "out");
    },
  };
}
