/**
 * Strings that end a text, found byte by byte. In UTF-8 no character's bytes occur inside another's,
 * so bytes that match are characters that match.
 *
 * @module
 */

/** One string and how much of it the text ends with. */
interface Watched {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** For every length that can be matched: the next shorter one that is matched as well. */
  readonly shorter: Uint16Array<ArrayBuffer>;
  matched: number;
}

/** Looks for stop strings in a text as it grows. */
export class StopStrings {
  readonly #watched: readonly Watched[];
  /** Bytes at the text's end that may belong to a stop string. */
  #held = 0;

  /**
   * The text is empty.
   *
   * @param strings None of them empty, at most 65,535 bytes each.
   */
  constructor(strings: readonly Uint8Array<ArrayBuffer>[]) {
    this.#watched = strings.map((bytes) => ({ bytes, shorter: prefixes(bytes), matched: 0 }));
  }

  /** Bytes at the text's end that are, or may become, a stop string: the longest of them counts. */
  get held(): number {
    return this.#held;
  }

  /** Takes the text's next byte; whether a stop string ends with it. */
  push(byte: number): boolean {
    let held = 0, stopped = 0;
    for (const watched of this.#watched) {
      const matched = advance(watched, byte);
      if (matched === watched.bytes.length) stopped = Math.max(stopped, matched);
      held = Math.max(held, matched);
    }
    this.#held = stopped > 0 ? stopped : held;
    return stopped > 0;
  }
}

/** The search of Knuth, Morris and Pratt: no byte is looked at twice, whatever it follows. */
function advance(watched: Watched, byte: number): number {
  const { bytes, shorter } = watched;
  let { matched } = watched;
  while (matched > 0 && bytes[matched] !== byte) matched = shorter[matched];
  if (bytes[matched] === byte) matched++;
  return watched.matched = matched;
}

function prefixes(bytes: Uint8Array<ArrayBuffer>): Uint16Array<ArrayBuffer> {
  const shorter = new Uint16Array(bytes.length + 1);
  for (let length = 1, matched = 0; length < bytes.length; length++) {
    while (matched > 0 && bytes[matched] !== bytes[length]) matched = shorter[matched];
    if (bytes[matched] === bytes[length]) matched++;
    shorter[length + 1] = matched;
  }
  return shorter;
}
