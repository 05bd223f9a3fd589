import { setImmediate } from "node:timers/promises";
import { VirtualClock } from "../../models/clock.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import { engineSuite } from "./engine.ts";

const clock = new VirtualClock();

engineSuite({
  name: "the simulated device",
  clock,
  open: () => openSimulatedDevice({ clock, depth: 2 }),
  async elapse() {
    clock.advanceTo(clock.nowMicros() + 50);
    await setImmediate();
  },
});
