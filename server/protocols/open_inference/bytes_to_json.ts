/**
 * A tensor's bytes as the text of its JSON `data`, as Triton writes it: flat, floats with a point or
 * an exponent and the shortest digits of their double value, non-finite numbers bare, 64-bit
 * integers exact.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import { unframeElements } from "../../../models/bytes_elements.ts";
import type { Datatype, Tensor } from "../../../models/tensor.ts";
import { isReal, readNumbers, type Reals } from "../../../models/tensor_values.ts";

/** Whether tensors of this datatype can be written as JSON: the protocol gives some no form. */
export function hasJsonForm(datatype: Datatype): boolean {
  return datatype !== "FP16" && datatype !== "BF16";
}

/**
 * The text of `data`, brackets included.
 *
 * @throws {SluiceError} `invalid_argument` when the values have no JSON form.
 */
export function bytesToJson(tensor: Tensor): string {
  return "[" + valuesToJson(tensor) + "]";
}

function valuesToJson(tensor: Tensor): string {
  const { name, datatype, data } = tensor;
  if (datatype === "BYTES") return joinTexts(tensor);
  if (datatype === "BOOL") return joinBooleans(data);
  if (!hasJsonForm(datatype)) throw noJsonForm(name, datatype);
  return isReal(datatype)
    ? joinReals(readNumbers(datatype, data))
    : readNumbers(datatype, data).join(",");
}

/** The refusal of an output that JSON cannot carry. */
export function noJsonForm(name: string, datatype: Datatype): SluiceError {
  return new SluiceError(
    "invalid_argument",
    `Output '${name}' has datatype ${datatype}, which has no JSON form; ` +
      "ask for it as binary data with the parameter 'binary_data'",
  );
}

/** `join` writes whole numbers without a point, `-0` as `0` and exponents with a plus. */
function joinReals(values: Reals): string {
  let whole = false;
  for (let i = 0; i < values.length && !whole; i++) whole = values[i] % 1 === 0;
  if (!whole) return values.join(",");
  let text = "";
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (i > 0) text += ",";
    if (value % 1 !== 0) text += value;
    else if (value >= 1e21 || value <= -1e21) text += String(value).replace("e+", "e");
    else if (value === 0) text += 1 / value < 0 ? "-0.0" : "0.0";
    else text += value + ".0";
  }
  return text;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function joinBooleans(data: Uint8Array): string {
  let text = "";
  for (let i = 0; i < data.length; i++) {
    text += (i > 0 ? "," : "") + (data[i] !== 0 ? "true" : "false");
  }
  return text;
}

function joinTexts({ name, data }: Tensor): string {
  const texts: string[] = [];
  for (const element of unframeElements(data) ?? []) {
    try {
      texts.push(JSON.stringify(decoder.decode(element)));
    } catch {
      throw new SluiceError(
        "invalid_argument",
        `Output '${name}' holds bytes that are no UTF-8 text (element ${texts.length}), which ` +
          "has no JSON form; ask for it as binary data with the parameter 'binary_data'",
      );
    }
  }
  return texts.join(",");
}
