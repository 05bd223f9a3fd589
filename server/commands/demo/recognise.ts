/**
 * From the recogniser's scores to text: connectionist temporal classification, decoded greedily.
 *
 * @module
 */

/** A line of text as it was read. */
export interface Line {
  /** Empty when nothing was recognised. */
  readonly text: string;
  /** Mean score of its characters, from 0 to 1. */
  readonly confidence: number;
}

/**
 * The recogniser's classes from the text of its keys file (a character per line): class 0 is the
 * blank, the last one the space.
 */
export function parseCharacters(keys: string): string[] {
  return ["", ...keys.replace(/\n$/, "").split(/\r?\n/), " "];
}

/**
 * Decodes scores `[steps, characters.length]` of one line: the best class of each step, repeats
 * taken once, blanks left out.
 *
 * @throws {RangeError} When the scores are no whole number of steps.
 */
export function decodeScores(scores: Float32Array, characters: readonly string[]): Line {
  const classes = characters.length;
  if (scores.length % classes !== 0) {
    throw new RangeError(
      `Scores: expected a multiple of ${classes} (the characters), got ${scores.length}`,
    );
  }
  let text = "";
  let sum = 0;
  let count = 0;
  let previous = 0;
  for (let start = 0; start < scores.length; start += classes) {
    let best = 0;
    for (let index = 1; index < classes; index++) {
      if (scores[start + index] > scores[start + best]) best = index;
    }
    if (best !== 0 && best !== previous) {
      text += characters[best];
      sum += scores[start + best];
      count++;
    }
    previous = best;
  }
  return { text, confidence: count === 0 ? 0 : sum / count };
}
