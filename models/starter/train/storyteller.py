"""Trains the storyteller, a model that goes on with a text, and writes it beside this folder.

    python -m venv .venv && .venv/bin/pip install -r models/starter/train/requirements.txt
    .venv/bin/python models/starter/train/storyteller.py           # writes model, expectations
    .venv/bin/python models/starter/train/storyteller.py --check   # trains again and compares

A token is a byte, or 256, which begins and ends a text. Seeds are fixed and the arithmetic uses one
thread; another machine may still round differently, so `--check` compares the loss on held-out
texts, and what the committed model tells, rather than bytes. All figures come from the ONNX model
and its cache, token by token.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

import transformer
import transformer_onnx

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "storyteller.onnx"
EXPECTED = HERE.parent / "expected_storyteller.json"
END = 256
HELD_OUT = 15
PROMPTS = [
    "This is the story of a long day at the gate, as Nora tells it.",
    "Three boats lay before the gate:",
]
TOLERANCE = 0.05


def data():
    """(training texts, held-out texts), each as bytes."""
    texts = (HERE / "corpus.txt").read_bytes().rstrip(b"\n").split(b"\n\n")
    return texts[HELD_OUT:], texts[:HELD_OUT]


def train(texts):
    """The model's bytes. Between two texts stands one token: the end of one begins the next."""
    stream = [END] + [token for text in texts for token in [*text, END]]
    return transformer_onnx.to_onnx("storyteller", transformer.train(np.array(stream)))


class Reader:
    """One text, read by the model bit by bit."""

    def __init__(self, session):
        self.session = session
        self.position = 0
        _, layers, places, latent = session.get_inputs()[2].shape
        self.cache = np.zeros((1, layers, places, latent), np.float32)

    def read(self, tokens):
        """Scores for what could follow."""
        inputs = {
            "tokens": np.array([tokens], np.int64),
            "position": np.array([self.position], np.int64),
            "past": self.cache,
        }
        logits, self.cache = self.session.run(["logits", "present"], inputs)
        self.position += len(tokens)
        return logits[0]


def loss(session, texts):
    """Mean negative log likelihood of a byte or an end, in nats."""
    losses = []
    for text in texts:
        reader = Reader(session)
        for token, following in zip([END, *text], [*text, END]):
            logits = reader.read([token])
            losses.append(np.logaddexp.reduce(logits, dtype=np.float64) - logits[following])
    return float(np.mean(losses))


def tell(session, prompt):
    """The text that goes on with the likeliest token at a time, until its end."""
    reader = Reader(session)
    told = []
    token = reader.read([END, *prompt.encode()]).argmax()
    while token != END and reader.position < transformer_onnx.CAPACITY:
        told.append(int(token))
        token = reader.read([token]).argmax()
    return bytes(told).decode(errors="replace")


def expectation(model, texts):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return {
        "loss": round(loss(session, texts), 4),
        "tokens": sum(len(text) + 1 for text in texts),
        "stories": [{"prompt": prompt, "told": tell(session, prompt)} for prompt in PROMPTS],
    }


def faults(expected, committed, again):
    """What is not as it was when the model was written."""
    if abs(committed["loss"] - expected["loss"]) > 0.001:
        yield f"the committed model has a loss of {committed['loss']}, not {expected['loss']}"
    if committed["stories"] != expected["stories"]:
        yield "the committed model tells other stories"
    if again["loss"] > expected["loss"] + TOLERANCE:
        yield f"trained again it has a loss of {again['loss']}, not {expected['loss']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="train again and compare; write nothing")
    arguments = parser.parse_args()
    training, held_out = data()
    model = train(training)
    found = expectation(model, held_out)
    print(f"loss {found['loss']} on {found['tokens']} held-out tokens, {len(model)} bytes")
    if not arguments.check:
        MODEL.write_bytes(model)
        EXPECTED.write_text(json.dumps(found, indent=2) + "\n")
        return 0
    committed = expectation(MODEL.read_bytes(), held_out)
    different = list(faults(json.loads(EXPECTED.read_text()), committed, found))
    for fault in different:
        print(fault, file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
