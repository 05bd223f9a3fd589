/**
 * Jobs of a gateway over HTTP.
 *
 * @module
 */

/** A job as far as the tests look at it. */
export interface JobJson {
  readonly id: string;
  readonly state: string;
  readonly error?: string;
  readonly iterations_done: number;
  readonly created_ms: number;
  readonly ended_ms?: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly checkpoint_error?: string;
  readonly checkpoints: readonly {
    readonly model: string;
    readonly version: number;
    readonly iterations: number;
  }[];
  readonly curves: {
    readonly iterations: readonly number[];
    readonly values: Readonly<Record<string, readonly number[]>>;
  };
}

/** One call; throws what a refusal says. */
export async function jobsCall(
  server: string,
  method: string,
  path = "",
  body?: unknown,
): Promise<JobJson> {
  const url = `${server}/v2/jobs${path}`;
  const response = await fetch(url, { method, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${answer.error}`);
  return answer;
}

/** Submits a training of the digits. */
export function train(
  server: string,
  learningRate: number,
  iterations: number,
  rest: Readonly<Record<string, unknown>> = {},
): Promise<JobJson> {
  const rate = { name: "learning_rate", datatype: "FP32", shape: [], data: [learningRate] };
  const body = { model: "digits_training", iterations, inputs: [rate], ...rest };
  return jobsCall(server, "POST", "", body);
}

/** The job once it is as it should be; the test's own time limit ends a wait in vain. */
export async function jobOnce(
  server: string,
  { id }: JobJson,
  isSo: (job: JobJson) => boolean,
  everyMillis = 5,
): Promise<JobJson> {
  for (;;) {
    const job = await jobsCall(server, "GET", `/${id}`);
    if (isSo(job)) return job;
    await new Promise((resolve) => setTimeout(resolve, everyMillis));
  }
}

/** The job when it has ended. */
export function jobEnded(server: string, job: JobJson, everyMillis?: number): Promise<JobJson> {
  const isOver = ({ state }: JobJson) => ["completed", "failed", "cancelled"].includes(state);
  return jobOnce(server, job, isOver, everyMillis);
}
