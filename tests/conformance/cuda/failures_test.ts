import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { FAILURE_CASES } from "./failures.ts";

for (const each of FAILURE_CASES) softwareGpuTest(each.name, each.run);
