/**
 * A map of bounded size: what was put in first makes room for what comes. For findings that can be
 * made again.
 *
 * @module
 */

/** Keeps the newest `limit` entries. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();

  /** An empty map. */
  constructor(
    /** Entries kept, at most. */
    readonly limit: number,
  ) {}

  /** The value put in for `key`, unless it had to make room. */
  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** Puts a value in, as the newest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.limit) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest);
  }
}
