import assert from "node:assert/strict";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What each folder may import of ours, itself apart. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  policies: [],
  ffi: [],
  models: ["ffi"],
  server: ["models", "policies", "deno.json"],
  tests: ["ffi", "models", "policies", "server"],
};

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* sources(path);
    else if (entry.name.endsWith(".ts")) yield path;
  }
}

/** Relative specifiers of a module's imports and re-exports. */
function imports(source: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^;"'=(]*?["'](\.{1,2}\/[^"']+)["']|\bimport\(\s*["'](\.{1,2}\/[^"']+)["']/gm;
  return Array.from(source.matchAll(pattern), ([, from, dynamic]) => from ?? dynamic);
}

Deno.test("imports go in one direction: ffi and policies know nobody, models know ffi", async () => {
  let checked = 0;
  const wrong: string[] = [];
  for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
    for await (const path of sources(`${ROOT}/${folder}`)) {
      for (const specifier of imports(await Deno.readTextFile(path))) {
        checked++;
        const target = relative(ROOT, resolve(dirname(path), specifier)).split("/")[0];
        if (target !== folder && !allowed.includes(target)) {
          wrong.push(`${relative(ROOT, path)} imports ${specifier}`);
        }
      }
    }
  }
  assert.ok(checked > 100, "the pattern finds imports");
  assert.deepEqual(wrong, []);
});

Deno.test("the repository does not know where models are fetched from", async () => {
  for await (const path of sources(`${ROOT}/models/repository`)) {
    const specifiers = imports(await Deno.readTextFile(path));
    assert.deepEqual(specifiers.filter((specifier) => specifier.includes("/sources/")), [], path);
  }
});

Deno.test("protocols see the engine only through its interface", async () => {
  const wrong: string[] = [];
  for await (const path of sources(`${ROOT}/server/protocols`)) {
    for (const specifier of imports(await Deno.readTextFile(path))) {
      const target = relative(ROOT, resolve(dirname(path), specifier));
      if (target.startsWith("server/engine/") && target !== "server/engine/api.ts") {
        wrong.push(`${relative(ROOT, path)} imports ${specifier}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});
