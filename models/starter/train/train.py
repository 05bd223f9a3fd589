"""Trains the starter models that classify, and writes them beside this folder.

    python -m venv .venv && .venv/bin/pip install -r models/starter/train/requirements.txt
    .venv/bin/python models/starter/train/train.py           # writes the models and expected.json
    .venv/bin/python models/starter/train/train.py --check   # trains again and compares

Seeds are fixed and the arithmetic uses one thread; another machine's numpy may still round
differently, so `--check` compares accuracy, and the committed models' answers to the held-out
samples, rather than bytes.
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

import digits  # noqa: E402
import wine  # noqa: E402

OUT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.01


def train_all():
    """(name, model, held-out inputs, their labels) of each model."""
    train_pixels, test_pixels, train_digits, test_digits = digits.data()
    layers = digits.train(digits.convolutional, train_pixels, train_digits, epochs=25)
    model = digits.to_onnx("digits_cnn", layers, "pixels", [1, 8, 8], "probabilities", True)
    yield "digits_cnn", model, test_pixels, test_digits

    flat = train_pixels.reshape(-1, 64), test_pixels.reshape(-1, 64)
    layers = digits.train(digits.dense, flat[0], train_digits, epochs=60)
    model = digits.to_onnx("digits_dense", layers, "pixels", [64], "logits", False)
    yield "digits_dense", model, flat[1], test_digits

    train_rows, test_rows, train_classes, test_classes = wine.data()
    forest = wine.train(train_rows, train_classes)
    yield "wine", wine.to_onnx(forest), test_rows, test_classes


def predict(model_bytes, inputs):
    """The class of each row: a label output where there is one, else the largest score."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model_bytes, options, ["CPUExecutionProvider"])
    first = session.run(None, {session.get_inputs()[0].name: inputs})[0]
    return first if first.ndim == 1 else first.argmax(1)


def expectation(model_bytes, inputs, labels):
    """Accuracy over all held-out rows, and of each class the first one that it gets right."""
    right = predict(model_bytes, inputs) == labels
    chosen = [np.flatnonzero(right & (labels == label))[0] for label in np.unique(labels)]
    return {
        "accuracy": round(float(right.mean()), 4),
        "rows": len(labels),
        "samples": [
            {
                "label": int(labels[row]),
                "values": [_number(value) for value in inputs[row].ravel()],
            }
            for row in chosen
        ],
    }


def _number(value):
    """The shortest decimal that reads back as the same FP32."""
    value = float(str(np.float32(value)))
    return int(value) if value.is_integer() else value


def write():
    expected = {}
    for name, model, inputs, labels in train_all():
        content = model.SerializeToString()
        (OUT / f"{name}.onnx").write_bytes(content)
        expected[name] = expectation(content, inputs, labels)
        print(f"{name}: accuracy {expected[name]['accuracy']}, {len(content)} bytes")
    lines = (f"{json.dumps(name)}: {json.dumps(of)}" for name, of in expected.items())
    (OUT / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def check():
    expected = json.loads((OUT / "expected.json").read_text())
    faults = []
    for name, model, inputs, labels in train_all():
        want = expected[name]["accuracy"]
        committed = expectation((OUT / f"{name}.onnx").read_bytes(), inputs, labels)
        again = expectation(model.SerializeToString(), inputs, labels)
        print(f"{name}: expected {want}, committed {committed['accuracy']}, "
              f"trained again {again['accuracy']}")
        if committed != expected[name]:
            faults.append(f"{name}: the committed model differs from expected.json")
        if abs(again["accuracy"] - want) > TOLERANCE:
            faults.append(f"{name}: accuracy {again['accuracy']} when trained again, not {want}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="train again and compare; write nothing")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
