import { VirtualClock } from "../../models/clock.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import { deviceConformance, type DeviceSubject } from "./device.ts";
import { sequenceConformance } from "./device_sequences.ts";

const clock = new VirtualClock();
const subject: DeviceSubject = {
  name: "simulated",
  open: () => openSimulatedDevice({ clock }),
  computes: false,
  passTime: () => clock.runAll(),
};

deviceConformance(subject);
sequenceConformance(subject);
