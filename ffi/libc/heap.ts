/**
 * The C library's heap, where native libraries keep what they allocate.
 *
 * @module
 */

const SIZE_T_FIELDS = 10;
const UORDBLKS = 7; // bytes in use in the arenas
const HBLKHD = 4; // bytes in use in blocks mapped one by one
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;

const SYMBOLS = {
  // struct mallinfo2 mallinfo2(void): ten times size_t; glibc 2.33 and later
  mallinfo2: {
    parameters: [],
    result: { struct: Array<"usize">(SIZE_T_FIELDS).fill("usize") },
    optional: true,
  },
  // int malloc_trim(size_t pad)
  malloc_trim: { parameters: ["usize"], result: "i32" },
  // int mallopt(int parameter, int value)
  mallopt: { parameters: ["i32", "i32"], result: "i32" },
} as const;

/** glibc's heap. */
export class Heap implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;

  /** Use {@linkcode openHeap}. */
  constructor(library: Deno.DynamicLibrary<typeof SYMBOLS>) {
    this.#library = library;
  }

  /** Bytes in use in the whole process; undefined where the library does not tell. */
  usedBytes(): number | undefined {
    const info = this.#library.symbols.mallinfo2?.();
    if (info === undefined) return undefined;
    const fields = new DataView(info.buffer, info.byteOffset);
    const read = (field: number) => Number(fields.getBigUint64(field * 8, true));
    return read(UORDBLKS) + read(HBLKHD);
  }

  /**
   * From which size on a block is mapped on its own and returns to the system the moment it is
   * freed. Smaller ones come from the arena of the thread that asks. Whenever one is freed, free
   * space at the arena's end beyond `keptBytes` returns; no call trims that part.
   */
  setThresholds(mappedBytes: number, keptBytes: number): void {
    this.#library.symbols.mallopt(M_MMAP_THRESHOLD, mappedBytes);
    this.#library.symbols.mallopt(M_TRIM_THRESHOLD, keptBytes);
  }

  /** Gives free pages back to the system. */
  trim(): void {
    this.#library.symbols.malloc_trim(0n);
  }

  /** Closes the library; the heap stays. */
  [Symbol.dispose](): void {
    this.#library.close();
  }
}

/** Opens the heap of glibc; undefined on a system with another C library. Needs `--allow-ffi`. */
export function openHeap(): Heap | undefined {
  if (Deno.build.os !== "linux") return undefined;
  try {
    return new Heap(Deno.dlopen("libc.so.6", SYMBOLS));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}
