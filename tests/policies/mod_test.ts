import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { DEFAULT_POLICY, POLICIES } from "../../policies/mod.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";

const FOLDER = new URL("../../policies/", import.meta.url);

function isDefinition(value: unknown): value is PolicyDefinition {
  return typeof value === "object" && value !== null && "create" in value && "promises" in value;
}

Deno.test("POLICIES has a row for the policy of every file, under its own name", async () => {
  const found = new Map<string, PolicyDefinition>();
  for (const file of await readdir(FOLDER)) {
    if (file === "template.ts") continue;
    const module: Record<string, unknown> = await import(new URL(file, FOLDER).href);
    for (const value of Object.values(module)) {
      if (isDefinition(value)) found.set(value.name, value);
    }
  }
  assert.deepEqual([...found.keys()].sort(), [...POLICIES.keys()].sort());
  for (const [name, definition] of POLICIES) assert.equal(found.get(name), definition);
  assert.ok([...POLICIES.values()].includes(DEFAULT_POLICY));
});

Deno.test("every policy says what it optimises, when to use it and what it costs", async () => {
  for (const name of [...POLICIES.keys(), "template"]) {
    const source = await readFile(new URL(`${name}.ts`, FOLDER), "utf8");
    const headings = [...source.matchAll(/^ \* ## (.+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, ["What it optimises", "When to use it", "What it costs"], name);
  }
});
