import assert from "node:assert/strict";
import { BoundedMap } from "../../models/bounded_map.ts";

Deno.test("BoundedMap forgets what was put in first when it is full", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3); // the newest again
  map.set("c", 4);
  assert.deepEqual(["a", "b", "c"].map((key) => map.get(key)), [3, undefined, 4]);
});
