"""A few layers with their gradients in numpy, and Adam: all that two small networks need.

Each layer maps a batch forward, and the gradient of the loss backward. `to_onnx` gives the ONNX
nodes that compute the same as `forward`.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper


class Layer:
    """A layer without weights; subclasses with some list them in `weights`, gradients alike."""

    def __init__(self):
        self.weights = []
        self.gradients = []

    def to_onnx(self, name, source, target):
        """Nodes from tensor `source` to tensor `target`, and the initialisers they read."""
        raise NotImplementedError


class Affine(Layer):
    """y = x W^T + b over [rows, inputs]."""

    def __init__(self, inputs, outputs, random):
        super().__init__()
        scale = np.sqrt(2 / inputs)
        self.weights = [
            (random.standard_normal((outputs, inputs)) * scale).astype(np.float32),
            np.zeros(outputs, np.float32),
        ]

    def forward(self, x):
        self.x = x
        return x @ self.weights[0].T + self.weights[1]

    def backward(self, dy):
        self.gradients = [dy.T @ self.x, dy.sum(0)]
        return dy @ self.weights[0]

    def to_onnx(self, name, source, target):
        names = [f"{name}.weight", f"{name}.bias"]
        node = helper.make_node("Gemm", [source, *names], [target], name, transB=1)
        return [node], _initialisers(names, self.weights)


class Conv3x3(Layer):
    """A 3x3 convolution, stride 1, padded to keep the size, over [rows, channels, h, w]."""

    def __init__(self, inputs, outputs, random):
        super().__init__()
        scale = np.sqrt(2 / (inputs * 9))
        self.weights = [
            (random.standard_normal((outputs, inputs, 3, 3)) * scale).astype(np.float32),
            np.zeros(outputs, np.float32),
        ]

    def forward(self, x):
        self.windows = _windows(x)
        y = np.tensordot(self.windows, self.weights[0], ([1, 4, 5], [1, 2, 3]))
        return (y + self.weights[1]).transpose(0, 3, 1, 2)

    def backward(self, dy):
        self.gradients = [
            np.tensordot(dy, self.windows, ([0, 2, 3], [0, 2, 3])),
            dy.sum((0, 2, 3)),
        ]
        flipped = self.weights[0][:, :, ::-1, ::-1]
        return np.tensordot(_windows(dy), flipped, ([1, 4, 5], [0, 2, 3])).transpose(0, 3, 1, 2)

    def to_onnx(self, name, source, target):
        names = [f"{name}.weight", f"{name}.bias"]
        node = helper.make_node(
            "Conv", [source, *names], [target], name, kernel_shape=[3, 3], pads=[1, 1, 1, 1]
        )
        return [node], _initialisers(names, self.weights)


class Relu(Layer):
    def forward(self, x):
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy):
        return dy * self.positive

    def to_onnx(self, name, source, target):
        return [helper.make_node("Relu", [source], [target], name)], []


class MaxPool2x2(Layer):
    """The largest of each 2x2 block; where several are, the gradient goes to all of them."""

    def forward(self, x):
        rows, channels, height, width = x.shape
        blocks = x.reshape(rows, channels, height // 2, 2, width // 2, 2)
        y = blocks.max((3, 5))
        self.largest = blocks == y[:, :, :, None, :, None]
        return y

    def backward(self, dy):
        dx = self.largest * dy[:, :, :, None, :, None]
        rows, channels, height, _, width, _ = dx.shape
        return dx.reshape(rows, channels, height * 2, width * 2)

    def to_onnx(self, name, source, target):
        node = helper.make_node(
            "MaxPool", [source], [target], name, kernel_shape=[2, 2], strides=[2, 2]
        )
        return [node], []


class Flatten(Layer):
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)

    def to_onnx(self, name, source, target):
        return [helper.make_node("Flatten", [source], [target], name)], []


class Adam:
    def __init__(self, rate):
        self.rate = rate
        self.steps = 0
        self.moments = {}

    def step(self, layers):
        self.steps += 1
        rate = self.rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for layer in layers:
            for weight, gradient in zip(layer.weights, layer.gradients):
                zeros = (np.zeros_like(weight), np.zeros_like(weight))
                first, second = self.moments.setdefault(id(weight), zeros)
                first += 0.1 * (gradient - first)
                second += 0.001 * (gradient * gradient - second)
                weight -= (rate * first / (np.sqrt(second) + 1e-8)).astype(np.float32)


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _windows(x):
    return sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))


def _initialisers(names, arrays):
    return [numpy_helper.from_array(array, name) for name, array in zip(names, arrays)]
