/**
 * A training step that runs as a model: the example of a job. `train/digits_training.py` wrote it,
 * and made the reference run in `expected_training.json`.
 *
 * @module
 */
import { DENSE_DIGITS, type Starter } from "./starters.ts";

/** The dense digit classifier with the weights that a training starts from, as good as a guess. */
export const TRAINED_DIGITS: Starter = {
  ...DENSE_DIGITS,
  name: "digits_trained",
  source: "digits_trained.onnx",
  does: "tells a handwritten digit of 8x8 pixels, once it has been trained; dense",
};

const CARRIED = ["W1", "b1", "W2", "b2", "W3", "b3", "step"];

/** One step of its training: a minibatch, the gradients, the update. */
export const DIGITS_TRAINING: Starter = {
  name: "digits_training",
  source: "digits_training.onnx",
  licence: "MIT",
  does: "trains digits_trained, a step of gradient descent at a time",
  samples: [[{
    name: "learning_rate",
    datatype: "FP32",
    shape: [],
    data: new Uint8Array(Float32Array.of(0.1).buffer),
  }]],
  carry: Object.fromEntries(CARRIED.map((name) => [`next.${name}`, name])),
  checkpoint: TRAINED_DIGITS.name,
};
