/**
 * The process's environment as native libraries see it.
 *
 * @module
 */

const LIBRARIES: Readonly<Partial<Record<typeof Deno.build.os, string>>> = {
  linux: "libc.so.6",
  darwin: "libSystem.B.dylib",
};

/**
 * Sets a variable for native code in this process, unless it is set. Needs `--allow-ffi`, and no
 * right to the environment. Does nothing where the C library is not known.
 */
export function setNativeEnvironment(name: string, value: string): void {
  const path = LIBRARIES[Deno.build.os];
  if (path === undefined) return;
  using library = openLibrary(path);
  const encoder = new TextEncoder();
  library?.symbols.setenv(encoder.encode(`${name}\0`), encoder.encode(`${value}\0`), 0);
}

function openLibrary(path: string) {
  try {
    const library = Deno.dlopen(path, {
      // int setenv(const char *name, const char *value, int overwrite)
      setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
    });
    return { symbols: library.symbols, [Symbol.dispose]: () => library.close() };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined; // another C library: what the variable would do stays undone
  }
}
