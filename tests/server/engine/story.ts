/**
 * Sequences in virtual time, with what became of them.
 *
 * @module
 */
import type { SluiceError } from "../../../models/errors.ts";
import { seededRandom } from "../../../models/random.ts";
import type { CostTable } from "../../../models/simulated/cost.ts";
import type { Tensor } from "../../../models/tensor.ts";
import type { Advance, OpenSequence, SequenceRequest } from "../../../server/engine/api.ts";
import { input, sequenceModel, type VirtualEngine } from "./fixture.ts";

/** Device time of {@linkcode sequenceModel} under the name `s`. */
export const SEQUENCE_COST = new Map<string, CostTable>([["s", { byRows: [[1, 100], [8, 200]] }]]);

/** A sequence of so many iterations, with what became of it. */
export class Story {
  readonly outputs: string[] = [];
  readonly atMicros: number[] = [];
  readonly batchRows: number[] = [];
  error: SluiceError | undefined;
  open: OpenSequence | undefined;

  constructor(
    sluice: VirtualEngine,
    readonly iterations: number,
    changes: Partial<SequenceRequest> = {},
    seed = 1,
  ) {
    const random = seededRandom(seed);
    const next = () => [input(1, random())];
    this.open = sluice.engine.openSequence({
      served: sluice.engine.find("s"),
      id: "",
      inputs: next(),
      priority: 0,
      timeoutMicros: 0,
      endless: false,
      iterations,
      advance: (outputs, timing): Advance => {
        this.outputs.push(`${outputs.map(({ name, data }) => `${name} ${data}`)}`);
        this.atMicros.push(sluice.clock.nowMicros());
        this.batchRows.push(timing.batchRows);
        return this.outputs.length < iterations ? next() : "end";
      },
      fail: (error) => this.error = error,
      ...changes,
    });
  }
}

/** Lets virtual time pass. */
export const pass = ({ clock }: VirtualEngine, micros: number) =>
  clock.advanceTo(clock.nowMicros() + micros);
/** What the model's state is where a client carries it. */
export const stateOf = (rows: number): Tensor => (
  { name: "s", datatype: "FP32", shape: [rows, 2], data: new Uint8Array(8 * rows) }
);
/** A model whose sequences may wait so long for others to join. */
export const delayed = (maxDelayMicros: number) =>
  sequenceModel("s", { batching: { ...sequenceModel("s").sequence!.batching, maxDelayMicros } });
export const openSequences = ({ engine }: VirtualEngine) => engine.find("s").openSequences;
export const stateHeld = ({ device }: VirtualEngine) =>
  device.memory().filter((use) => use.class === "state").reduce((sum, { bytes }) => sum + bytes, 0);
