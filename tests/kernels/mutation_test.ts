import assert from "node:assert/strict";
import { seededRandom } from "../../models/random.ts";
import { softwareGpuTest } from "../fixtures/software_gpu.ts";
import { EQUIVALENTS, noticed, shippedMutants } from "./mutation.ts";

/** Of the mutants; `tests/kernels/mutation.ts` tries all. */
const SAMPLE = 40;

softwareGpuTest("the cases of the shipped kernels notice a sample of mutants", async (gpu) => {
  const random = seededRandom(20);
  const left = shippedMutants().filter(({ name }) => !EQUIVALENTS.has(name));
  for (let i = 0; i < SAMPLE; i++) {
    const [mutant] = left.splice(Math.floor(random() * left.length), 1);
    assert.ok(await noticed(gpu, mutant), `${mutant.name} survives`);
  }
});

softwareGpuTest("the mutants listed as equivalent are not noticed", async (gpu) => {
  const listed = shippedMutants().filter(({ name }) => EQUIVALENTS.has(name));
  assert.equal(listed.length, EQUIVALENTS.size, "mutants that are listed and exist");
  for (const mutant of listed) assert.equal(await noticed(gpu, mutant), undefined, mutant.name);
});
