/** Where a heap keeps an item; the item carries it, so that removal needs no search. */
export interface HeapItem {
  /** Written by the heap alone; -1 while in none. */
  heapIndex: number;
}

/** A binary min-heap whose items can be removed from the middle. An item is in one heap at most. */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  /** An empty heap. `before(a, b)`: whether `a` comes out first. Must be a strict total order. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** The items, the first one first, the rest in no useful order. Not to be changed. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** The first item, left where it is; undefined when there is none. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /** Adds an item that is in no heap. */
  push(item: T): void {
    this.#items.push(item);
    this.#up(this.#items.length - 1, item);
  }

  /** Removes the first item; undefined when there is none. */
  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Removes an item that is in this heap. */
  remove(item: T): void {
    const index = item.heapIndex;
    item.heapIndex = -1;
    const last = this.#items.pop()!;
    if (last === item) return;
    if (index > 0 && this.#before(last, this.#items[(index - 1) >> 1])) this.#up(index, last);
    else this.#down(index, last);
  }

  #up(index: number, item: T): void {
    const items = this.#items;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#before(item, items[parent])) break;
      items[index] = items[parent];
      items[index].heapIndex = index;
      index = parent;
    }
    items[index] = item;
    item.heapIndex = index;
  }

  #down(index: number, item: T): void {
    const items = this.#items;
    const half = items.length >> 1;
    while (index < half) {
      let child = 2 * index + 1;
      if (child + 1 < items.length && this.#before(items[child + 1], items[child])) child++;
      if (!this.#before(items[child], item)) break;
      items[index] = items[child];
      items[index].heapIndex = index;
      index = child;
    }
    items[index] = item;
    item.heapIndex = index;
  }
}
