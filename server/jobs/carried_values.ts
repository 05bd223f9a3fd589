/**
 * The values that a job carries from iteration to iteration, as a model's file keeps them.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { CarriedTensor } from "../../models/model.ts";
import { readInitializers } from "../../models/onnx/initializers.ts";
import type { Tensor } from "../../models/tensor.ts";
import { isReal, readNumbers } from "../../models/tensor_values.ts";

/**
 * Reads the values of all carried inputs out of a file that has initialisers of their names.
 *
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument` when one is missing, or of another datatype or shape.
 */
export function carriedValues(
  bytes: Uint8Array,
  carry: readonly CarriedTensor[],
  fileName: string,
): Tensor[] {
  const found = readInitializers(bytes, new Set(carry.map(({ input }) => input)), fileName);
  return carry.map(({ input, datatype, shape }) => {
    const tensor = found.get(input);
    if (tensor?.datatype === datatype && String(tensor.shape) === String(shape)) return tensor;
    const given = tensor && `is ${tensor.datatype} of shape [${tensor.shape}]`;
    throw new SluiceError(
      "invalid_argument",
      `${fileName}: initialiser '${input}' ${given ?? "is missing"}; ` +
        `expected ${datatype} of shape [${shape}], as the job carries it`,
    );
  });
}

/** The name of the first tensor that has a value which is no finite number. */
export function firstNotFinite(tensors: readonly Tensor[]): string | undefined {
  return tensors.find(({ datatype, data }) =>
    isReal(datatype) && !readNumbers(datatype, data).every(Number.isFinite)
  )?.name;
}
