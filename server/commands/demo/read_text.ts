/**
 * Reads the text in a picture with three models: a detector finds the lines, a classifier says
 * which are upside down, a recogniser reads them. All of it is the client's side: a model server
 * sees nothing but tensors.
 *
 * @module
 */
import { findBoxes } from "./boxes.ts";
import {
  type Box,
  type Normalisation,
  type Picture,
  resize,
  toPlanes,
  turnAround,
} from "./picture.ts";
import { decodeScores, type Line } from "./recognise.ts";
import type { Tensor } from "../../../models/tensor.ts";

/** Runs a model on one input and gives its first output. */
export type Infer = (model: string, input: Tensor) => Promise<Tensor>;

/** The names that the models are registered under. */
export interface OcrModels {
  /** Picture to map of probabilities. */
  readonly detector: string;
  /** Line to probabilities of 0 and 180 degrees. */
  readonly angle: string;
  /** Line to scores of characters, step by step. */
  readonly recogniser: string;
}

/** Longest side that the detector is shown, pixels. */
const LONGEST_SIDE = 960;
/** The detector halves its input five times. */
const SIDE_MULTIPLE = 32;
/** Height of a line for the classifier and the recogniser, pixels. */
const LINE_HEIGHT = 48;
/** Width of a line for the classifier, pixels. */
const ANGLE_WIDTH = 192;
/** Least width of a line for the recogniser, pixels. */
const RECOGNISER_WIDTH = 320;
/** Probability above which a line is turned around. */
const UPSIDE_DOWN = 0.9;

const IMAGENET: Normalisation = { mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] };
const CENTRED: Normalisation = { mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] };

/**
 * The lines of text in a picture, in reading order. Lines are read concurrently: a server with
 * more than one lane runs them side by side.
 *
 * @param characters The recogniser's classes, from `parseCharacters`.
 */
export async function readText(
  picture: Picture,
  characters: readonly string[],
  models: OcrModels,
  infer: Infer,
): Promise<Line[]> {
  const boxes = await detect(picture, models.detector, infer);
  return await Promise.all(boxes.map(async (box) => {
    const line = await upright(cutOut(picture, box), models.angle, infer);
    const width = Math.max(RECOGNISER_WIDTH, line.width);
    const scores = await infer(models.recogniser, pictureTensor(line, CENTRED, width));
    return decodeScores(floats(scores), characters);
  }));
}

async function detect(picture: Picture, model: string, infer: Infer): Promise<Box[]> {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
  const side = (pixels: number) =>
    Math.max(1, Math.round(pixels * scale / SIDE_MULTIPLE)) * SIDE_MULTIPLE;
  const resized = resize(picture, side(picture.width), side(picture.height));
  const probability = floats(await infer(model, pictureTensor(resized, IMAGENET)));
  const map = { width: resized.width, height: resized.height, probability };
  return findBoxes(map, picture.width, picture.height);
}

async function upright(line: Picture, model: string, infer: Infer): Promise<Picture> {
  const shown = resize(line, Math.min(line.width, ANGLE_WIDTH), LINE_HEIGHT);
  const [, turned] = floats(await infer(model, pictureTensor(shown, CENTRED, ANGLE_WIDTH)));
  return turned > UPSIDE_DOWN ? turnAround(line) : line;
}

/** A line, as high as the networks want it and as wide as its proportions make it. */
function cutOut(picture: Picture, box: Box): Picture {
  const proportion = (box.right - box.left) / (box.bottom - box.top);
  return resize(picture, Math.max(1, Math.ceil(proportion * LINE_HEIGHT)), LINE_HEIGHT, box);
}

/** FP32 `[1, 3, height, width]`. All three models call their input `x`. */
function pictureTensor(
  picture: Picture,
  normalisation: Normalisation,
  width: number = picture.width,
): Tensor {
  const planes = toPlanes(picture, normalisation, width);
  return {
    name: "x",
    datatype: "FP32",
    shape: [1, 3, picture.height, width],
    data: new Uint8Array(planes.buffer),
  };
}

/** The tensor's numbers; copied, since its bytes may start anywhere. */
function floats(tensor: Tensor): Float32Array {
  return new Float32Array(tensor.data.slice().buffer);
}
