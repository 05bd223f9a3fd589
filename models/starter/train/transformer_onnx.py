"""A trained transformer as an ONNX graph that reads some tokens at a time and keeps a cache.

`past` and `present` are the cache before and after: [batch, layers, CAPACITY, latent]. Each row is
written at its own `position`, and sees nothing beyond what it has written. `logits` are of the last
token alone. Since all heads share one vector per token they need no axis of their own: they lie
beside the tokens, and nothing has to be moved.
"""

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from transformer import EPSILON, HEADS, LATENT, LAYERS, SLOPES, VOCABULARY, WIDTH

CAPACITY = 768
OPSET = 17
IR_VERSION = 8


class Graph:
    """Nodes in order, and the constants that they read."""

    def __init__(self):
        self.nodes = []
        self.initialisers = {}

    def constant(self, name, array):
        self.initialisers[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def node(self, kind, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(kind, inputs, outputs, outputs[0], **attributes))
        return output


def to_onnx(name, weights):
    """The bytes of a model that computes the scores of `weights`."""
    g = Graph()
    g.constant("axis1", np.array([1], np.int64))
    at = positions(g)
    slots = cache_slots(g, at)
    bias = distance_bias(g, at)
    g.constant("query.shape", np.array([0, 1, -1, LATENT], np.int64))
    g.constant("heads.shape", np.array([0, -1, HEADS * LATENT], np.int64))

    before = g.node("Split", ["past"], [f"past.{n}" for n in range(LAYERS)], axis=1)
    x = g.node("Gather", [g.constant("embedding", weights["embedding"]), "tokens"], "embedded")
    after = []
    for n, layer in enumerate(weights["layers"]):
        x, cache = attention(g, f"{n}.attention", layer, x, before[n], slots, bias)
        x = feed(g, f"{n}.feed", layer, x)
        after.append(cache)
    g.node("Concat", after, "present", axis=1)

    last = g.node("Gather", [x, g.constant("last", np.int64(-1))], "last.token", axis=1)
    g.node("Gemm", [norm(g, "norm", weights["norm"], last), "embedding"], "logits", transB=1)
    return model(name, g)


def positions(g):
    """The place of each token in its row's text: [batch, length]."""
    g.constant("first", np.array([0], np.int64))
    g.constant("count", np.arange(CAPACITY))
    length = g.node("Shape", ["tokens"], "length", start=1)
    steps = g.node("Slice", ["count", "first", length], "steps")
    begin = g.node("Unsqueeze", ["position", "axis1"], "begin")
    return g.node("Add", [begin, steps], "at")


def cache_slots(g, at):
    """Where in a layer's cache each value of each token is written: [batch, 1, length, latent]."""
    g.constant("slot.axes", np.array([1, 3], np.int64))
    g.constant("slot.shape", np.array([1, 1, 1, LATENT], np.int64))
    return g.node("Expand", [g.node("Unsqueeze", [at, "slot.axes"], "at.slot"), "slot.shape"], "slots")


def distance_bias(g, at):
    """What is added to the match of each token and head with each place: [batch, 1, ., CAPACITY]."""
    g.constant("places", np.arange(CAPACITY, dtype=np.float32))
    g.constant("inner.axes", np.array([2, 3], np.int64))
    g.constant("here", np.float32(0))
    g.constant("never", np.float32(-np.inf))
    g.constant("slopes", SLOPES)
    g.constant("bias.shape", np.array([0, 1, -1, CAPACITY], np.int64))
    token = g.node("Cast", [at], "at.float", to=TensorProto.FLOAT)
    token = g.node("Unsqueeze", [token, "inner.axes"], "at.token")
    distance = g.node("Sub", ["places", token], "distance")
    ahead = g.node("Greater", [distance, "here"], "ahead")
    seen = g.node("Where", [ahead, "never", distance], "seen")
    return g.node("Reshape", [g.node("Mul", [seen, "slopes"], "sloped"), "bias.shape"], "bias")


def attention(g, name, layer, x, past, slots, bias):
    """The stream after the layer, and the layer's cache with the new tokens written."""
    y = norm(g, f"{name}.norm", layer["attention.norm"], x)
    latent = product(g, f"{name}.latent", y, layer["attention.latent"])
    latent = g.node("Unsqueeze", [latent, "axis1"], f"{name}.new")
    cache = g.node("ScatterElements", [past, slots, latent], f"{name}.cache", axis=2)
    query = product(g, f"{name}.query", y, layer["attention.query"] / np.float32(LATENT**0.5))
    query = g.node("Reshape", [query, "query.shape"], f"{name}.heads")
    keys = g.node("Transpose", [cache], f"{name}.keys", perm=[0, 1, 3, 2])
    match = g.node("Add", [g.node("MatMul", [query, keys], f"{name}.match"), bias], f"{name}.biased")
    share = g.node("Softmax", [match], f"{name}.share", axis=-1)
    mixed = g.node("MatMul", [share, cache], f"{name}.mixed")
    mixed = g.node("Squeeze", [mixed, "axis1"], f"{name}.squeezed")
    mixed = g.node("Reshape", [mixed, "heads.shape"], f"{name}.joined")
    out = product(g, f"{name}.out", mixed, layer["attention.out"])
    return g.node("Add", [x, out], f"{name}.stream"), cache


def feed(g, name, layer, x):
    y = norm(g, f"{name}.norm", layer["feed.norm"], x)
    y = product(g, f"{name}.in", y, layer["feed.in"])
    y = product(g, f"{name}.out", g.node("Relu", [y], f"{name}.relu"), layer["feed.out"])
    return g.node("Add", [x, y], f"{name}.stream")


def norm(g, name, scale, x):
    inputs = [x, g.constant(f"{name}.scale", scale)]
    return g.node("LayerNormalization", inputs, name, epsilon=EPSILON)


def product(g, name, x, matrix):
    return g.node("MatMul", [x, g.constant(f"{name}.weight", matrix)], name)


def model(name, g):
    value = helper.make_tensor_value_info
    cache = ["batch", LAYERS, CAPACITY, LATENT]
    graph = helper.make_graph(
        g.nodes,
        name,
        [
            value("tokens", TensorProto.INT64, ["batch", "length"]),
            value("position", TensorProto.INT64, ["batch"]),
            value("past", TensorProto.FLOAT, cache),
        ],
        [
            value("logits", TensorProto.FLOAT, ["batch", VOCABULARY]),
            value("present", TensorProto.FLOAT, cache),
        ],
        list(g.initialisers.values()),
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = IR_VERSION
    made.producer_name = "sluice"
    checker.check_model(made, full_check=True)
    return made.SerializeToString()
