import { openCpuDevice } from "../../models/cpu/mod.ts";
import { deviceConformance, type DeviceSubject } from "./device.ts";
import { sequenceConformance } from "./device_sequences.ts";

const subject: DeviceSubject = {
  name: "cpu",
  open: () => openCpuDevice({ threads: 2 }),
  computes: true,
};

deviceConformance(subject);
sequenceConformance(subject);
