import assert from "node:assert/strict";
import {
  decodeGenerateRequest,
  DEFAULT_MAX_TOKENS,
  LONGEST_STOP_BYTES,
  MOST_STOPS,
} from "../../../server/protocols/generate/request.ts";
import { schemas } from "../../../server/protocols/openapi_schemas.ts";
import { RULE } from "./scripted.ts";

const text = await Deno.readTextFile(new URL("../../../docs/generation.md", import.meta.url));

Deno.test("docs/generation.md and the OpenAPI description have every parameter that is taken", () => {
  let refusal = "";
  try {
    decodeGenerateRequest({ text_input: "", unknown: 1 }, RULE, false);
  } catch (error) {
    refusal = String(error);
  }
  const [, known] = refusal.split("some of");
  const taken = Array.from(known.matchAll(/'(\w+)'/g), ([, name]) => name).toSorted();
  assert.ok(taken.length > 5, refusal);
  const documented = Array.from(text.matchAll(/^\| `(\w+)`/gm), ([, name]) => name);
  assert.deepEqual(documented.toSorted(), taken);
  const { properties } = schemas.GenerateRequest as {
    readonly properties: { readonly parameters: { readonly properties: object } };
  };
  assert.deepEqual(Object.keys(properties.parameters.properties).toSorted(), taken);
});

Deno.test("docs/generation.md has the limits", () => {
  assert.match(text, new RegExp(`\`max_tokens\` +\\| ${DEFAULT_MAX_TOKENS}`));
  assert.match(text, new RegExp(`up to ${MOST_STOPS}, of ${LONGEST_STOP_BYTES} bytes each`));
});
