/**
 * From the text detector's map of probabilities to boxes around lines of text, as the detector's
 * authors do it (differentiable binarisation, Liao et al. 2020): the network draws each line
 * shrunk, so what is connected is boxed and grown again. Lines are taken to be level.
 *
 * @module
 */
import type { Box } from "./picture.ts";

/** A pixel belongs to text above this probability. */
const PIXEL_THRESHOLD = 0.3;
/** A box is text when its pixels' mean probability is above this. */
const BOX_THRESHOLD = 0.6;
/** Boxes less high or wide than this, in the map's pixels, are specks. */
const SMALLEST_SIDE = 3;
/**
 * How far a box grows: its area times this, over its circumference. The authors' 1.5 is for tight
 * polygons; level boxes need a little more, or the recogniser loses the spaces.
 */
const GROWTH = 1.8;

/** Probabilities of text, row by row. */
export interface TextMap {
  /** Pixels. */
  readonly width: number;
  /** Pixels. */
  readonly height: number;
  /** One for each pixel. */
  readonly probability: Float32Array;
}

/**
 * Boxes around the lines of text in a picture of `width` x `height` pixels, of which `map` is the
 * detector's answer in any resolution; in reading order.
 */
export function findBoxes(map: TextMap, width: number, height: number): Box[] {
  const scaleX = width / map.width;
  const scaleY = height / map.height;
  return connectedBoxes(map)
    .filter((box) => Math.min(box.right - box.left, box.bottom - box.top) >= SMALLEST_SIDE)
    .filter((box) => meanProbability(map, box) > BOX_THRESHOLD)
    .map(grow)
    .map((box) => ({
      left: Math.max(0, Math.round(box.left * scaleX)),
      top: Math.max(0, Math.round(box.top * scaleY)),
      right: Math.min(width, Math.round(box.right * scaleX)),
      bottom: Math.min(height, Math.round(box.bottom * scaleY)),
    }))
    .sort(readingOrder);
}

/** The bounding box of each group of text pixels that touch, corners included. */
function connectedBoxes({ width, height, probability }: TextMap): Box[] {
  const seen = new Uint8Array(width * height);
  const open: number[] = [];
  const visit = (index: number) => {
    if (seen[index] || probability[index] <= PIXEL_THRESHOLD) return;
    seen[index] = 1;
    open.push(index);
  };
  const boxes: Box[] = [];
  for (let start = 0; start < seen.length; start++) {
    visit(start);
    if (open.length === 0) continue;
    let left = width, top = height, right = 0, bottom = 0;
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const x = index % width;
      const y = (index - x) / width;
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + 1);
      bottom = Math.max(bottom, y + 1);
      for (let nearY = Math.max(0, y - 1); nearY <= Math.min(height - 1, y + 1); nearY++) {
        for (let nearX = Math.max(0, x - 1); nearX <= Math.min(width - 1, x + 1); nearX++) {
          visit(nearY * width + nearX);
        }
      }
    }
    boxes.push({ left, top, right, bottom });
  }
  return boxes;
}

function meanProbability({ width, probability }: TextMap, box: Box): number {
  let sum = 0;
  for (let y = box.top; y < box.bottom; y++) {
    for (let x = box.left; x < box.right; x++) sum += probability[y * width + x];
  }
  return sum / ((box.right - box.left) * (box.bottom - box.top));
}

function grow({ left, top, right, bottom }: Box): Box {
  const width = right - left;
  const height = bottom - top;
  const by = width * height * GROWTH / (2 * (width + height));
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
}

/** Line by line from the top; boxes whose middles lie at one height are one line. */
function readingOrder(a: Box, b: Box): number {
  const distance = (a.top + a.bottom - b.top - b.bottom) / 2;
  const sameLine = Math.abs(distance) < Math.min(a.bottom - a.top, b.bottom - b.top) / 2;
  return sameLine ? a.left - b.left : distance;
}
