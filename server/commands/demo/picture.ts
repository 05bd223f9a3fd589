/**
 * Pictures as the OCR models want them: decoded, cut out, resized, turned and normalised.
 *
 * @module
 */
import { convertIndexedToRgb, decode, type DecodedPng } from "fast-png";
import { messageOf, SluiceError } from "../../../models/errors.ts";

/** Colours of pixels. */
export interface Picture {
  /** Pixels. */
  readonly width: number;
  /** Pixels. */
  readonly height: number;
  /** Red, green and blue of each pixel, row by row. */
  readonly rgb: Uint8Array;
}

/** A rectangle in pixels from the upper left corner. */
export interface Box {
  /** First column. */
  readonly left: number;
  /** First row. */
  readonly top: number;
  /** The column after the last. */
  readonly right: number;
  /** The row after the last. */
  readonly bottom: number;
}

/** How a network's training scaled colours from 0 to 1. */
export interface Normalisation {
  /** Subtracted, by channel. */
  readonly mean: readonly [number, number, number];
  /** Divided by afterwards, by channel. */
  readonly deviation: readonly [number, number, number];
}

/**
 * Decodes any PNG. What is transparent shows as on white paper.
 *
 * @throws {SluiceError} `invalid_argument` when the bytes are not a PNG, or a broken one.
 */
export function decodePicture(png: Uint8Array): Picture {
  const decoded = decodePng(png);
  const { width, height, depth } = decoded;
  const palette = decoded.palette ?? (depth < 8 ? greys(depth) : undefined);
  const data = palette ? convertIndexedToRgb({ ...decoded, palette }) : decoded.data;
  const channels = data.length / (width * height);
  const scale = depth === 16 ? 1 / 257 : 1;
  const grey = channels < 3;
  const hasAlpha = channels === 2 || channels === 4;
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const start = pixel * channels;
    const opacity = hasAlpha ? data[start + channels - 1] * scale / 255 : 1;
    for (let channel = 0; channel < 3; channel++) {
      const value = data[start + (grey ? 0 : channel)] * scale;
      rgb[pixel * 3 + channel] = Math.round(value * opacity + 255 * (1 - opacity));
    }
  }
  return { width, height, rgb };
}

function decodePng(bytes: Uint8Array): DecodedPng {
  try {
    return decode(bytes);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new SluiceError("invalid_argument", `The picture is no readable PNG: ${reason}`, {
      cause,
    });
  }
}

/** The palette of a grey picture whose pixels share bytes: as many greys as `depth` bits tell. */
function greys(depth: number): number[][] {
  const count = 1 << depth;
  return Array.from({ length: count }, (_, index) => Array(3).fill(index * 255 / (count - 1)));
}

/** The part of `picture` inside `box` (all of it when absent), resized with linear interpolation. */
export function resize(
  picture: Picture,
  width: number,
  height: number,
  box: Box = { left: 0, top: 0, right: picture.width, bottom: picture.height },
): Picture {
  const columns = interpolation(box.left, box.right, width);
  const rows = interpolation(box.top, box.bottom, height);
  const stride = picture.width * 3;
  const rgb = new Uint8Array(width * height * 3);
  let at = 0;
  for (const y of rows) {
    for (const x of columns) {
      for (let channel = 0; channel < 3; channel++) {
        const value = (row: number) => {
          const start = row * stride + channel;
          const first = picture.rgb[start + x.first * 3];
          return first + (picture.rgb[start + x.second * 3] - first) * x.share;
        };
        const upper = value(y.first);
        rgb[at++] = Math.round(upper + (value(y.second) - upper) * y.share);
      }
    }
  }
  return { width, height, rgb };
}

/** For each of `count` positions spread over [from, to): the two pixels it lies between. */
function interpolation(from: number, to: number, count: number) {
  const scale = (to - from) / count;
  return Array.from({ length: count }, (_, index) => {
    const position = Math.min(Math.max(from + (index + 0.5) * scale - 0.5, from), to - 1);
    const first = Math.floor(position);
    return { first, second: Math.min(first + 1, to - 1), share: position - first };
  });
}

/** The picture turned by half a circle. */
export function turnAround({ width, height, rgb }: Picture): Picture {
  const turned = new Uint8Array(rgb.length);
  for (let pixel = 0; pixel < width * height; pixel++) {
    turned.set(rgb.subarray(pixel * 3, pixel * 3 + 3), rgb.length - pixel * 3 - 3);
  }
  return { width, height, rgb: turned };
}

/**
 * The picture as `[3, height, paddedWidth]` numbers, blue first as the models were trained, zeros
 * to the right of it.
 */
export function toPlanes(
  picture: Picture,
  { mean, deviation }: Normalisation,
  paddedWidth: number = picture.width,
): Float32Array<ArrayBuffer> {
  const { width, height, rgb } = picture;
  const planes = new Float32Array(3 * height * paddedWidth);
  for (let plane = 0; plane < 3; plane++) {
    for (let y = 0; y < height; y++) {
      const target = (plane * height + y) * paddedWidth;
      for (let x = 0; x < width; x++) {
        const value = rgb[(y * width + x) * 3 + 2 - plane] / 255;
        planes[target + x] = (value - mean[plane]) / deviation[plane];
      }
    }
  }
  return planes;
}
