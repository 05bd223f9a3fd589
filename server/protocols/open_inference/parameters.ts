/**
 * The parameters of an inference request: Triton's parameters, schedule policy and sequence
 * extensions. Names that are not known are a model's own in Triton, and pass.
 *
 * @module
 */
import type { SequenceStep } from "../../engine/api.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";
import { boolean, invalid, object, string, wholeNumber } from "./fields.ts";

/** What they say, in the gateway's own terms. */
export interface Parameters {
  /** Whether outputs go out as binary data where the client named none. */
  readonly binaryOutputs: boolean;
  /** 1 is most urgent; 0 when none was given. */
  readonly priority: number;
  /** Microseconds; 0 when none was given. */
  readonly timeoutMicros: number;
  /** Whose request it is; absent when nobody said. */
  readonly tenant?: string;
  /** Present when the request is one of a sequence. */
  readonly sequence?: SequenceStep;
}

/** Those of a request that gives none. */
export const NO_PARAMETERS: Parameters = { binaryOutputs: false, priority: 0, timeoutMicros: 0 };

/** Decodes a request's `parameters`. @throws {SluiceError} `invalid_argument`. */
export function decodeParameters(value: unknown): Parameters {
  if (value === undefined) return NO_PARAMETERS;
  const parameters = object(value, "The request's 'parameters'");
  for (const name of Object.keys(parameters)) {
    const value = parameters[name];
    if (typeof value === "object") {
      throw invalid(
        `Parameter '${name}' is ${describe(value)}, expected a string, a number or a boolean`,
      );
    }
    if (name.startsWith("triton_")) {
      throw invalid(`Parameter '${name}' begins with 'triton_', which is reserved`);
    }
  }
  const { binary_data_output = false, priority = 0, timeout = 0, tenant } = parameters;
  return {
    binaryOutputs: boolean(binary_data_output, "Parameter 'binary_data_output'"),
    priority: wholeNumber(priority, "Parameter 'priority'"),
    timeoutMicros: wholeNumber(timeout, "Parameter 'timeout'"),
    tenant: tenant === undefined ? undefined : string(tenant, "Parameter 'tenant'"),
    sequence: decodeSequence(parameters),
  };
}

/** No sequence has the name 0 or "": with these a request is none of a sequence's. */
function decodeSequence(
  { sequence_id: id = 0, sequence_start = false, sequence_end = false }: Fields,
): SequenceStep | undefined {
  const start = boolean(sequence_start, "Parameter 'sequence_start'");
  const end = boolean(sequence_end, "Parameter 'sequence_end'");
  const named = typeof id === "string" ||
    (typeof id === "number" && Number.isSafeInteger(id) && id >= 0);
  if (!named) {
    throw invalid(
      `Parameter 'sequence_id' is ${describe(id)}, ` +
        "expected a string, or a whole number from 0 to 2^53 - 1",
    );
  }
  if (id !== 0 && id !== "") return { id, start, end };
  if (!start && !end) return undefined;
  throw invalid(
    `Parameter 'sequence_${start ? "start" : "end"}' is true, ` +
      "expected a 'sequence_id' beside it that is neither 0 nor empty",
  );
}
