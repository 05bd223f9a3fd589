/**
 * A network of MobileNetV2's shape with seeded weights: about 300 million multiply-adds an image.
 *
 * @see https://arxiv.org/abs/1801.04381 table 2
 * @module
 */
import { fp32, type Initializer, type Node, onnxModel, weights } from "../fixtures/onnx.ts";

/** Expansion, output channels, repeats and first stride of each stage. */
const STAGES = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

interface Convolution {
  readonly from: number;
  readonly to: number;
  readonly kernel: 1 | 3;
  readonly stride?: number;
  /** One filter per channel instead of filters over all channels. */
  readonly depthwise?: boolean;
  /** Without the ReLU6 that follows every convolution but a block's last. */
  readonly linear?: boolean;
}

/** x [batch, 3, 224, 224] -> y [batch, 1000], FP32. */
export function mobilenetModel(): Uint8Array<ArrayBuffer> {
  const net = new Net();
  let value = net.convolve("x", { from: 3, to: 32, kernel: 3, stride: 2 });
  let channels = 32;
  for (const [expansion, to, repeats, firstStride] of STAGES) {
    for (let i = 0; i < repeats; i++) {
      value = net.block(value, channels, expansion, to, i === 0 ? firstStride : 1);
      channels = to;
    }
  }
  value = net.convolve(value, { from: channels, to: 1280, kernel: 1 });
  value = net.node("GlobalAveragePool", [value]);
  value = net.node("Flatten", [value]);
  net.node("Gemm", [value, net.weights([1280, 1000], 1280), net.weights([1000], 100)], {}, "y");
  return onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["batch", 3, 224, 224] }],
    outputs: [{ name: "y", datatype: "FP32", shape: ["batch", 1000] }],
    initializers: net.initializers,
    nodes: net.nodes,
  });
}

class Net {
  readonly nodes: Node[] = [];
  readonly initializers: Initializer[] = [
    { name: "zero", datatype: "FP32", shape: [], raw: fp32([0]) },
    { name: "six", datatype: "FP32", shape: [], raw: fp32([6]) },
  ];

  node(op: string, inputs: string[], attributes: Node["attributes"] = {}, output?: string): string {
    output ??= `t${this.nodes.length}`;
    this.nodes.push({ op, inputs, outputs: [output], attributes });
    return output;
  }

  weights(shape: number[], fanIn: number): string {
    const name = `w${this.initializers.length}`;
    this.initializers.push(weights(name, shape, this.initializers.length, fanIn));
    return name;
  }

  convolve(input: string, { from, to, kernel, stride = 1, ...kind }: Convolution): string {
    const inputsPerFilter = kind.depthwise ? 1 : from;
    const fanIn = inputsPerFilter * kernel * kernel;
    // ReLU6 halves the variance, so the weights before one are given twice as much.
    const filters = this.weights(
      [to, inputsPerFilter, kernel, kernel],
      kind.linear ? fanIn : fanIn / 2,
    );
    const pad = kernel >> 1;
    const output = this.node("Conv", [input, filters, this.weights([to], 400)], {
      kernel_shape: { ints: [kernel, kernel] },
      strides: { ints: [stride, stride] },
      pads: { ints: [pad, pad, pad, pad] },
      group: { int: kind.depthwise ? from : 1 },
    });
    return kind.linear ? output : this.node("Clip", [output, "zero", "six"]);
  }

  /** An inverted residual: expand, filter each channel, project, and add the input where it fits. */
  block(input: string, from: number, expansion: number, to: number, stride: number): string {
    const wide = from * expansion;
    let value = input;
    if (expansion > 1) value = this.convolve(value, { from, to: wide, kernel: 1 });
    value = this.convolve(value, { from: wide, to: wide, kernel: 3, stride, depthwise: true });
    value = this.convolve(value, { from: wide, to, kernel: 1, linear: true });
    return stride === 1 && from === to ? this.node("Add", [input, value]) : value;
  }
}
