/**
 * Triton's `sequence_batching`: what of it is served. Each state is an output that carries over to an
 * input; how long a sequence may be idle, and how long it may wait for others, hold as they are.
 *
 * @see https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/model_configuration.html
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { ModelConfig } from "./model_config.ts";

/** The message, as far as it was set. */
export type SequenceBatching = NonNullable<ModelConfig["sequence_batching"]>;

/**
 * Checks what cannot be told from the model's file.
 *
 * @param where How errors call the configuration.
 * @throws {SluiceError} `unsupported` for control inputs, a state that starts from a file, and
 *   sequences that the model itself goes on with.
 */
export function checkSequenceBatching(batching: SequenceBatching, where: string): void {
  const refuse = (fault: string) =>
    new SluiceError("unsupported", `${where}: "sequence_batching": ${fault}`);
  for (const { name = "", control = [] } of batching.control_input ?? []) {
    const kinds = control.map(({ kind = "CONTROL_SEQUENCE_START" }) => kind).join(", ");
    throw refuse(
      `"control_input" gives ${JSON.stringify(name)} the value of ${kinds || "nothing"}; control ` +
        'inputs are not served. Declare the state as "state", which starts anew by itself',
    );
  }
  for (const { input_name = "", initial_state = [] } of batching.state ?? []) {
    const file = initial_state.find(({ data_file }) => data_file !== undefined)?.data_file;
    if (file === undefined) continue;
    throw refuse(
      `"initial_state" of ${JSON.stringify(input_name)} is the file ${JSON.stringify(file)}; a ` +
        "state starts from the model's initialiser of that name, or from zeros",
    );
  }
  if (batching.iterative_sequence) {
    throw refuse('"iterative_sequence" is true; a sequence goes on when its client asks for it');
  }
}

/** How long a request may wait for others to be joined with, microseconds. */
export function sequenceDelayMicros({ direct, oldest }: SequenceBatching): number {
  return (direct ?? oldest)?.max_queue_delay_microseconds ?? 0;
}
