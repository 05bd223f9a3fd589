/**
 * The training step and the classifier that it trains, in a repository.
 *
 * @module
 */
import { starterSource } from "../../models/starter/starters.ts";
import { DIGITS_TRAINING, TRAINED_DIGITS } from "../../models/starter/training.ts";
import { repositoryWith, type TemporaryFolder } from "../fixtures/repository.ts";

/** A temporary repository with `digits_training` and `digits_trained`. */
export async function trainingRepository(): Promise<TemporaryFolder> {
  const { carry, checkpoint } = DIGITS_TRAINING;
  const read = async (starter: typeof TRAINED_DIGITS) =>
    await Deno.readFile(new URL(starterSource(starter)));
  return await repositoryWith({
    "digits_training/1/model.onnx": await read(DIGITS_TRAINING),
    "digits_training/manifest.json": JSON.stringify({ carry, checkpoint }),
    "digits_trained/1/model.onnx": await read(TRAINED_DIGITS),
  });
}
