import assert from "node:assert/strict";
import { POLICIES } from "../../policies/mod.ts";
import { drawPolicy, PLOTS, POLICY_PLOTS, type PolicyPlot } from "./policy_plots.ts";

const nameOf = ({ name, policy }: PolicyPlot) => name ?? policy;

Deno.test("POLICY_PLOTS has a plot for every policy", () => {
  const drawn = POLICY_PLOTS.map(nameOf);
  assert.deepEqual([...POLICIES.keys()].filter((policy) => !drawn.includes(policy)), []);
});

for (const plot of POLICY_PLOTS) {
  const file = `${nameOf(plot)}.svg`;
  Deno.test(`docs/plots/${file} is what policy_plots.ts draws, and docs/policies.md shows it`, async () => {
    const committed = await Deno.readTextFile(new URL(file, PLOTS));
    assert.ok(await drawPolicy(plot) === committed, "run deno run -A tests/load/policy_plots.ts");
    const page = await Deno.readTextFile(new URL("../policies.md", PLOTS));
    assert.ok(page.includes(`](plots/${file})`));
  });
}
