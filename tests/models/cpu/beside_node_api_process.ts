/** Uses onnxruntime-node first, which takes no shared threads, and the CPU device in the same process after it. */
import { InferenceSession } from "onnxruntime-node";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import { scaleModel } from "../../fixtures/onnx.ts";
import {
  fp32Tensor,
  fp32Values,
  modelOf,
  outputsOf,
  stepOf,
} from "../../conformance/device_models.ts";

if (import.meta.main) {
  const bytes = scaleModel(3);
  const session = await InferenceSession.create(bytes);
  await using device = openCpuDevice({ threads: 2 });
  const faults: unknown[] = [];
  device.onFault((fault) => faults.push(fault));
  await using staged = await device.stage(modelOf("scale", bytes));
  await using executable = await staged.upload();
  const step = stepOf([fp32Tensor("x", [1, 4], [1, 2, 3, 4])]);
  const [y] = await outputsOf(executable, device.openLane(0), step);
  await session.release();
  console.log(JSON.stringify({ faults, y: fp32Values(y) }));
}
