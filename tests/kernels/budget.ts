/**
 * How much of a multiprocessor each shipped kernel may take.
 *
 * More registers or shared memory mean fewer blocks at a time, and spills mean traffic to memory:
 * none of it changes an answer, so only a budget notices.
 *
 * @module
 */
import budgets from "./budget.json" with { type: "json" };
import type { KernelUse } from "./toolkit.ts";

/**
 * What a card's kernels take beyond their budget, a sentence for each excess.
 *
 * @param card Architecture, e.g. `90` for `sm_90`.
 */
export function overBudget(card: number, uses: ReadonlyMap<string, KernelUse>): string[] {
  const over: string[] = [];
  for (const [kernel, use] of uses) {
    const budget = new Map(Object.entries(budgets)).get(kernel);
    if (budget === undefined) {
      over.push(`${kernel} has no budget; add one to tests/kernels/budget.json`);
      continue;
    }
    const check = (what: string, taken: number, allowed: number) => {
      if (taken > allowed) {
        over.push(`${kernel} takes ${taken} ${what} on sm_${card}; its budget is ${allowed}`);
      }
    };
    check("registers", use.registers, budget.registers);
    check("bytes of shared memory", use.sharedBytes, budget.sharedBytes);
    check("bytes of spills", use.spillBytes, 0);
  }
  return over;
}
