import { VirtualClock } from "../../models/clock.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import { deviceConformance } from "./device.ts";

const clock = new VirtualClock();
deviceConformance({
  name: "simulated",
  open: () => openSimulatedDevice({ clock }),
  computes: false,
  passTime: () => clock.runAll(),
});
