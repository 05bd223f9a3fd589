import assert from "node:assert/strict";
import { HALVING_MICROS, Tenants } from "../../../server/engine/tenants.ts";

Deno.test("Tenants: what a tenant was charged is halved again and again", () => {
  const tenants = new Tenants();
  tenants.charge("a", 800, 0);
  tenants.charge("b", 100, 0);
  assert.equal(tenants.micros("a", 0), 800);
  assert.equal(tenants.micros("a", HALVING_MICROS), 400);
  tenants.charge("a", 200, HALVING_MICROS);
  assert.equal(tenants.micros("a", 2 * HALVING_MICROS), 300);
  assert.equal(tenants.micros("b", HALVING_MICROS), 50);
});

Deno.test("Tenants: nobody has no account", () => {
  const tenants = new Tenants();
  tenants.charge("", 800, 0);
  assert.equal(tenants.micros("", 0), 0);
  assert.equal(tenants.micros("stranger", 0), 0);
});
