"""Two classifiers of scikit-learn's 8x8 handwritten digits: convolutional, and dense.

Pixels are ink from 0 to 16, as the data set has them. The networks want them from 0 to 1: the
first layer's weights take up the factor, which is a power of two and so exact.
"""

import numpy as np
from onnx import TensorProto, checker, helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from layers import Adam, Affine, Conv3x3, Flatten, MaxPool2x2, Relu, softmax

SEED = 7
OPSET = 13
IR_VERSION = 8


def data():
    """(training pixels, test pixels, training digits, test digits); pixels are [rows, 1, 8, 8]."""
    digits = load_digits()
    pixels = digits.data.astype(np.float32).reshape(-1, 1, 8, 8)
    return train_test_split(
        pixels, digits.target, test_size=0.2, random_state=SEED, stratify=digits.target
    )


def convolutional(random):
    return [
        Conv3x3(1, 16, random),
        Relu(),
        Conv3x3(16, 32, random),
        Relu(),
        MaxPool2x2(),
        Flatten(),
        Affine(32 * 4 * 4, 64, random),
        Relu(),
        Affine(64, 10, random),
    ]


def dense(random):
    return [
        Affine(64, 128, random),
        Relu(),
        Affine(128, 64, random),
        Relu(),
        Affine(64, 10, random),
    ]


def train(build, pixels, labels, epochs, batch=32, rate=1e-3):
    """Trains what `build` makes on pixels from 0 to 16 and returns its layers."""
    random = np.random.default_rng(SEED)
    layers = build(random)
    adam = Adam(rate)
    scaled = pixels / np.float32(16)
    for epoch in range(epochs):
        adam.rate = rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        order = random.permutation(len(scaled))
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            x = scaled[rows]
            for layer in layers:
                x = layer.forward(x)
            gradient = softmax(x)
            gradient[np.arange(len(rows)), labels[rows]] -= 1
            gradient /= len(rows)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            adam.step(layers)
    layers[0].weights[0] /= np.float32(16)
    return layers


def to_onnx(name, layers, input_name, input_shape, output_name, probabilities):
    """The trained layers as a model with a free batch dimension; ends in Softmax if asked to."""
    nodes, initialisers = [], []
    source = input_name
    for index, layer in enumerate(layers):
        last = index == len(layers) - 1
        target = output_name if last and not probabilities else f"value{index}"
        layer_name = f"{type(layer).__name__.lower()}{index}"
        new_nodes, new_initialisers = layer.to_onnx(layer_name, source, target)
        nodes += new_nodes
        initialisers += new_initialisers
        source = target
    if probabilities:
        nodes.append(helper.make_node("Softmax", [source], [output_name], "softmax", axis=1))
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(input_name, TensorProto.FLOAT, ["batch", *input_shape])],
        [helper.make_tensor_value_info(output_name, TensorProto.FLOAT, ["batch", 10])],
        initialisers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    model.producer_name = "sluice"
    checker.check_model(model, full_check=True)
    return model
