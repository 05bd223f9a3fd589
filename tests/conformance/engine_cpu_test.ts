import { setImmediate } from "node:timers/promises";
import { SystemClock } from "../../models/clock.ts";
import { openCpuDevice } from "../../models/cpu/mod.ts";
import { engineSuite } from "./engine.ts";

engineSuite({
  name: "the CPU device",
  clock: new SystemClock(),
  open: () => openCpuDevice(),
  elapse: () => setImmediate(),
});
