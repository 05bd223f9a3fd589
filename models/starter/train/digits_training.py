"""Writes a training step of the dense digit classifier as a model, and the model its weights go to.

    python -m venv .venv && .venv/bin/pip install -r models/starter/train/requirements.txt
    .venv/bin/python models/starter/train/digits_training.py           # writes models, reference run
    .venv/bin/python models/starter/train/digits_training.py --check   # makes all again and compares

One iteration of `digits_training` is one step of stochastic gradient descent: minibatch, forward
pass, gradients and update, all in the graph. Each weight and the number of steps done are inputs
with a default, and come out again under `next.`; the data set is inside, and the minibatch follows
from the number of steps, so that the same learning rate gives the same weights every time.
`digits_trained` is the classifier alone. Its initialisers have the names of those inputs, so that
weights can be put into it by name.

The reference run is made in numpy, with gradients that know nothing of the graph's.
"""

import argparse
import json
import os
import sys
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402 (the thread counts are read at import)
import onnxruntime  # noqa: E402
from onnx import TensorProto, checker, helper, numpy_helper  # noqa: E402

import digits  # noqa: E402
from layers import softmax  # noqa: E402

OUT = Path(__file__).resolve().parent.parent
OPSET = 17
IR_VERSION = 8
BATCH = 512
RATES = (0.03, 0.1)
STEPS = 200
TOLERANCE = 1e-4

LAYERS = (1, 2, 3)
WEIGHTS = [f"{kind}{layer}" for layer in LAYERS for kind in "Wb"]


def initial():
    """The seeded weights that a training starts from, by name: W1, b1, ..."""
    layers = digits.dense(np.random.default_rng(digits.SEED))
    return dict(zip(WEIGHTS, (weight for layer in layers for weight in layer.weights)))


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def value(name, element_type, shape):
    return helper.make_tensor_value_info(name, element_type, shape)


def forward(pixels, weight="{}", value_prefix=""):
    """Nodes from pixels of 0 to 16 to `logits`; values and weights are named as the caller likes."""
    node, v = helper.make_node, value_prefix
    nodes = [node("Mul", [pixels, "sixteenth"], [f"{v}a0"])]
    for layer in LAYERS:
        last = layer == LAYERS[-1]
        inputs = [f"{v}a{layer - 1}", weight.format(f"W{layer}"), weight.format(f"b{layer}")]
        nodes.append(node("Gemm", inputs, [f"{v}logits" if last else f"{v}z{layer}"], transB=1))
        if not last:
            nodes.append(node("Relu", [f"{v}z{layer}"], [f"{v}a{layer}"]))
    return nodes


def minibatch():
    """The rows after those of the step before, round and round: `pixels` and `labels`."""
    node = helper.make_node
    return [
        node("Mul", ["step", "batch"], ["begin"]),
        node("Add", ["begin", "offsets"], ["unwrapped"]),
        node("Mod", ["unwrapped", "training_rows"], ["rows"]),
        node("Gather", ["training_images", "rows"], ["images"]),
        node("Gather", ["training_labels", "rows"], ["labels"]),
        node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT),
    ]


def update():
    """
    From `logits` to `loss` and the weights after the step.

    The gradient with respect to the logits is softmax(logits) - onehot(labels), over the rows. It
    is multiplied by the learning rate there: gradients are linear in it, so every one behind it is
    the step to take, and one Gemm with alpha -1 makes the product and the update.
    """
    node = helper.make_node
    nodes = [
        node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss", "log_probabilities"]),
        node("Exp", ["log_probabilities"], ["probabilities"]),
        node("Gather", ["unit_vectors", "labels"], ["targets"]),
        node("Sub", ["probabilities", "targets"], ["errors"]),
        node("Div", ["learning_rate", "batch_fp32"], ["rate_per_row"]),
        node("Mul", ["errors", "rate_per_row"], ["dz3"]),
    ]
    for layer in reversed(LAYERS):
        dz, w, b = f"dz{layer}", f"W{layer}", f"b{layer}"
        inputs = [dz, f"a{layer - 1}", w]
        nodes += [
            node("Gemm", inputs, [f"next.{w}"], transA=1, alpha=-1.0),
            node("ReduceSum", [dz, "first_axis"], [f"d{b}"], keepdims=0),
            node("Sub", [b, f"d{b}"], [f"next.{b}"]),
        ]
        if layer > 1:
            z, da = f"z{layer - 1}", f"da{layer - 1}"
            nodes += [
                node("MatMul", [dz, w], [da]),
                node("Greater", [z, "zero"], [f"{z}_positive"]),
                node("Where", [f"{z}_positive", da, "zero"], [f"dz{layer - 1}"]),
            ]
    return [*nodes, node("Add", ["step", "one"], ["next.step"])]


def accuracy():
    """Of the weights after the step, on images that no step sees."""
    node = helper.make_node
    return [
        node("Cast", ["held_out_images"], ["held_out_pixels"], to=TensorProto.FLOAT),
        *forward("held_out_pixels", "next.{}", "held_out_"),
        node("ArgMax", ["held_out_logits"], ["answers"], axis=1, keepdims=0),
        node("Equal", ["answers", "held_out_labels"], ["right"]),
        node("Cast", ["right"], ["right_fp32"], to=TensorProto.FLOAT),
        node("ReduceMean", ["right_fp32"], ["accuracy"], keepdims=0),
    ]


def model(name, nodes, inputs, outputs, initialisers):
    graph = helper.make_graph(nodes, name, inputs, outputs, initialisers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = IR_VERSION
    made.producer_name = "sluice"
    checker.check_model(made, full_check=True)
    return made.SerializeToString()


def training_model(weights):
    """`learning_rate`, weights and `step` -> `loss` of the minibatch, `accuracy` and what is next."""
    training_images, held_out_images, training_labels, held_out_labels = digits.data()
    state = [value(name, TensorProto.FLOAT, w.shape) for name, w in weights.items()]
    state.append(value("step", TensorProto.INT64, []))
    after = [value(f"next.{of.name}", of.type.tensor_type.elem_type, shape(of)) for of in state]
    metrics = [value(name, TensorProto.FLOAT, []) for name in ("loss", "accuracy")]
    return model(
        "digits_training",
        [*minibatch(), *forward("pixels"), *update(), *accuracy()],
        [value("learning_rate", TensorProto.FLOAT, []), *state],
        [*metrics, *after],
        constants(
            **weights,
            step=np.int64(0),
            training_images=training_images.reshape(-1, 64).astype(np.uint8),
            training_labels=training_labels.astype(np.int64),
            held_out_images=held_out_images.reshape(-1, 64).astype(np.uint8),
            held_out_labels=held_out_labels.astype(np.int64),
            unit_vectors=np.eye(10, dtype=np.float32),
            batch=np.int64(BATCH),
            batch_fp32=np.float32(BATCH),
            offsets=np.arange(BATCH, dtype=np.int64),
            training_rows=np.int64(len(training_labels)),
            sixteenth=np.float32(1 / 16),
            zero=np.float32(0),
            one=np.int64(1),
            first_axis=np.array([0], np.int64),
        ),
    )


def shape(of):
    return [dim.dim_value for dim in of.type.tensor_type.shape.dim]


def trained_model(weights):
    """`pixels` -> `logits`, and of every row by how many steps the weights were trained."""
    node = helper.make_node
    nodes = [
        *forward("pixels"),
        node("Shape", ["pixels"], ["rows"], start=0, end=1),
        node("Expand", ["step", "rows"], ["trained_steps"]),
    ]
    return model(
        "digits_trained",
        nodes,
        [value("pixels", TensorProto.FLOAT, ["batch", 64])],
        [
            value("logits", TensorProto.FLOAT, ["batch", 10]),
            value("trained_steps", TensorProto.INT64, ["batch"]),
        ],
        constants(**weights, step=np.int64(0), sixteenth=np.float32(1 / 16)),
    )


def reference(rate):
    """The same steps in numpy: the loss of each, and what came out in the end."""
    images, held_out, labels, held_out_labels = digits.data()
    images, held_out = (of.reshape(-1, 64) / np.float32(16) for of in (images, held_out))
    layers = digits.dense(np.random.default_rng(digits.SEED))

    def run(x):
        for layer in layers:
            x = layer.forward(x)
        return x

    losses = []
    for step in range(STEPS):
        rows = (step * BATCH + np.arange(BATCH)) % len(images)
        gradient = softmax(run(images[rows]))
        truth = np.arange(BATCH), labels[rows]
        losses.append(float(-np.log(gradient[truth]).mean()))
        gradient[truth] -= 1
        gradient /= np.float32(BATCH)
        for layer in reversed(layers):
            gradient = layer.backward(gradient)
        for layer in layers:
            for weight, by in zip(layer.weights, layer.gradients):
                weight -= np.float32(rate) * by
    weights = dict(zip(WEIGHTS, (weight for layer in layers for weight in layer.weights)))
    return {
        "learningRate": rate,
        "losses": [float(f"{loss:.7g}") for loss in losses],
        "accuracy": round(float((run(held_out).argmax(1) == held_out_labels).mean()), 6),
        "norms": {name: float(f"{np.linalg.norm(w):.7g}") for name, w in weights.items()},
    }


def graph_run(model_bytes, rate):
    """The same figures from the model, step by step."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it warns of every input with a default
    session = onnxruntime.InferenceSession(model_bytes, options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    state, losses, out = {}, [], {}
    for _ in range(STEPS):
        inputs = {"learning_rate": np.array(rate, np.float32), **state}
        out = {name: np.asarray(array) for name, array in zip(names, session.run(None, inputs))}
        losses.append(float(out["loss"]))
        state = {name: out[f"next.{name}"] for name in [*WEIGHTS, "step"]}
    return {
        "learningRate": rate,
        "losses": losses,
        "accuracy": float(out["accuracy"]),
        "norms": {name: float(np.linalg.norm(state[name])) for name in WEIGHTS},
    }


def compare(model_bytes, expected):
    """Faults of a model that does not do what the reference run did."""
    for want in expected["runs"]:
        rate = want["learningRate"]
        got = graph_run(model_bytes, rate)
        pairs = [*zip(got["losses"], want["losses"])]
        pairs += [(got["norms"][name], norm) for name, norm in want["norms"].items()]
        worst = max(abs(a - b) / abs(b) for a, b in pairs)
        print(f"learning rate {rate}: loss {got['losses'][0]:.4f} -> {got['losses'][-1]:.4f}, "
              f"accuracy {got['accuracy']:.4f}, off by {worst:.1e} at most")
        if worst > TOLERANCE:
            yield f"learning rate {rate}: off by {worst:.1e}, more than {TOLERANCE}"
        if abs(got["accuracy"] - want["accuracy"]) > TOLERANCE:
            yield f"learning rate {rate}: accuracy {got['accuracy']}, not {want['accuracy']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; write nothing")
    arguments = parser.parse_args()
    weights = initial()
    models = {"digits_training": training_model(weights), "digits_trained": trained_model(weights)}
    expected = {"runs": [reference(rate) for rate in RATES]}
    faults = list(compare(models["digits_training"], expected))
    if arguments.check:
        committed = json.loads((OUT / "expected_training.json").read_text())
        faults += compare((OUT / "digits_training.onnx").read_bytes(), committed)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not arguments.check and not faults:
        for name, content in models.items():
            (OUT / f"{name}.onnx").write_bytes(content)
            print(f"{name}: {len(content)} bytes")
        runs = ",\n".join(json.dumps(run) for run in expected["runs"])
        (OUT / "expected_training.json").write_text(f'{{"runs": [\n{runs}\n]}}\n')
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
