import { openCpuDevice } from "../../models/cpu/mod.ts";
import { deviceConformance } from "./device.ts";

deviceConformance({ name: "cpu", open: () => openCpuDevice({ threads: 2 }), computes: true });
