/**
 * Runs the conformance suite over the built-in policies and the template, or over files of one's
 * own: `deno test -A tests/conformance/policy_test.ts -- ./mine.ts`.
 */
import { loadPolicy } from "../../policies/load.ts";
import { POLICIES } from "../../policies/mod.ts";
import template from "../../policies/template.ts";
import { policyConformance } from "./policy.ts";

const own = Deno.args.filter((argument) => /\.[cm]?[jt]s$/.test(argument));

if (own.length > 0) {
  for (const path of own) policyConformance(await loadPolicy(path));
} else {
  for (const policy of POLICIES.values()) policyConformance(policy);
  policyConformance(template);
}
