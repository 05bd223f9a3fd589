/**
 * The CUDA binding and the software GPU: what a launch costs, how soon its end is seen, how fast
 * kernels run where no GPU is.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { build } from "../../ffi/software_gpu/build.ts";
import type { BenchRun } from "./bench_run.ts";
import type { CudaFigures, ProductRun } from "./cuda_loop.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, significant, type Verdict } from "./figures.ts";
import { type Section, verdictCell } from "./report.ts";

const CONNECTIONS = 8;
const LAUNCH_LOOP = fileURLToPath(new URL("../ffi/cuda/launch_loop.ts", import.meta.url));

const PRODUCTS: readonly (ProductRun & { readonly goal: number })[] = [
  { module: "sgemm", kernel: "sgemm", elementBytes: 4, size: 512, block: [16, 16], goal: 5 },
  {
    module: "mma_gemm",
    kernel: "mma_gemm_f16",
    elementBytes: 2,
    size: 1024,
    block: [128],
    goal: 10,
  },
];

/** All figures, each run in fresh processes. */
export async function measureCuda(
  { seconds, runs, models, progress }: BenchRun,
): Promise<Section> {
  progress("cuda: building the software GPU");
  const path = await build();
  const calls: CudaFigures[] = [];
  const rates = PRODUCTS.map((): number[] => []);
  const collections: number[] = [];
  const [{ requests: { json: request } }] = models.models.values();
  for (let run = 1; run <= runs; run++) {
    progress(`cuda: run ${run} of ${runs}`);
    calls.push(await callAfresh("cudaFigures", { seconds, connections: CONNECTIONS, request }));
    collections.push(await majorCollections(path));
    for (const [i, product] of PRODUCTS.entries()) {
      rates[i].push(await callAfresh("productRate", product));
    }
  }
  const of = (figure: (run: CudaFigures) => number) => median(calls.map(figure));
  const subject = "cuda";
  const verdicts: Verdict[] = [
    judge(subject, "us to enqueue a launch", of((run) => run.launchMicros), "at most", 0.6),
    judge(subject, "calls to replay 8 kernels", of((run) => run.callsOfReplay), "at most", 1),
    judge(subject, "major collections in 10,000 launches", median(collections), "at most", 0),
    judge(subject, "us until an event is seen, p50", of((run) => run.seen.p50), "at most", 100),
    ...PRODUCTS.map(({ kernel, goal }, i) =>
      judge(subject, `GFLOP/s of ${kernel}`, median(rates[i]), "at least", goal)
    ),
  ];
  const besides: readonly (readonly [string, number])[] = [
    ["us to enqueue a replay of 8 kernels", of((run) => run.replayMicros)],
    ["us until an event is seen, p99", of((run) => run.seen.p99)],
    ["requests/s served meanwhile", of((run) => run.seen.requestsPerSecond)],
  ];
  return {
    table: {
      title: "CUDA binding on the software GPU",
      columns: ["figure", "median", "goal"],
      rows: [
        ...verdicts.map((verdict) => [
          verdict.goal.replace(/ at (most|least) .*/, ""),
          significant(verdict.figure),
          verdictCell([verdict]),
        ]),
        ...besides.map(([figure, value]) => [figure, significant(value), ""]),
      ],
    },
    verdicts,
    data: { calls, collections, rates },
  };
}

/** As V8 itself tells them. */
async function majorCollections(path: string): Promise<number> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-ffi", "--v8-flags=--trace-gc", LAUNCH_LOOP, path],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  const during = new TextDecoder().decode(stdout).match(/^begin$(.*)^end$/ms);
  if (during === null) throw new Error(`${LAUNCH_LOOP} printed no begin and end`);
  return during[1].match(/Mark-Compact/g)?.length ?? 0;
}
