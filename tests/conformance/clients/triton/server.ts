/**
 * A real Triton with a Python backend and no GPU, out of the wheel of PyTriton.
 *
 * @module
 */
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Datatype, DATATYPE_BYTES } from "../../../../models/tensor.ts";
import { repositoryWith } from "../../../fixtures/repository.ts";
import { type ClientSetting, program, Unavailable } from "../client.ts";
import { SCORES_CONFIG, SCORES_LABELS } from "../fixtures.ts";
import { installPackages } from "../install.ts";

/** Triton 2.51 without GPU backends. */
const PACKAGES = ["nvidia-pytriton==0.7.0", "numpy==1.26.4"];
const MODEL = fileURLToPath(new URL("./model.py", import.meta.url));
const LONGEST_START_SECONDS = 120;

/** A running Triton; disposing of it ends it. */
export interface Triton extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
}

/** Installs Triton where it is not there yet and starts it on a free port. */
export async function startTriton(setting: ClientSetting): Promise<Triton> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    throw new Unavailable("PyTriton has wheels for Linux on x86-64 alone");
  }
  const python = await installPackages(setting, "triton", PACKAGES.join("\n"));
  const probe =
    "import sys, sysconfig; print(sysconfig.get_path('purelib'), '%d.%d' % sys.version_info[:2])";
  const [site, version] = (await program(python, ["-c", probe])).text.trim().split(" ");
  const home = join(site, "pytriton/tritonserver");
  const stub = "triton_python_backend_stub";
  await Deno.copyFile(
    join(home, "python_backend_stubs", version, stub),
    join(home, "backends/python", stub),
  );

  await using parts = new AsyncDisposableStack();
  const repository = parts.use(
    await repositoryWith(repositoryFiles(await Deno.readTextFile(MODEL))),
  );
  const port = freePort();
  setting.progress("Starting Triton");
  const server = new Deno.Command(join(home, "bin/tritonserver"), {
    args: [
      ...[`--model-repository=${repository.path}`, `--backend-directory=${join(home, "backends")}`],
      ...["--model-control-mode=explicit", "--load-model=*"],
      ...["--exit-on-error=false", "--strict-readiness=false"],
      ...["--http-address=127.0.0.1", `--http-port=${port}`],
      ...["--allow-grpc=false", "--allow-metrics=false"],
    ],
    env: {
      PYTHONPATH: site,
      PATH: [join(python, ".."), Deno.env.get("PATH")].join(delimiter),
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  parts.defer(async () => {
    try {
      server.kill();
    } catch {
      // It has ended by itself.
    }
    await server.status;
  });
  const address = `127.0.0.1:${port}`;
  await whenReady(address);
  const running = parts.move();
  return { address, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function whenReady(address: string): Promise<void> {
  for (let second = 0; second < LONGEST_START_SECONDS; second++) {
    const ready = await fetch(`http://${address}/v2/health/ready`).catch(() => undefined);
    await ready?.body?.cancel();
    if (ready?.ok) return;
    await setTimeout(1000);
  }
  throw new Unavailable(`Triton was not ready within ${LONGEST_START_SECONDS} s`);
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function repositoryFiles(model: string): Record<string, string> {
  const datatypes = (Object.keys(DATATYPE_BYTES) as Datatype[]).filter((name) => name !== "BF16");
  const files: Record<string, string> = {};
  const add = (name: string, config: string, versions: readonly number[] = [1], code = model) => {
    files[`${name}/config.pbtxt`] = `backend: "python"\n${config}`;
    for (const version of versions) files[`${name}/${version}/model.py`] = code;
  };
  for (const datatype of datatypes) {
    const type = `TYPE_${datatype === "BYTES" ? "STRING" : datatype}`;
    add(datatype, io(["x"], "y", type, "-1"));
  }
  add("add", io(["a", "b"], "sum", "TYPE_FP32", "-1, 4"));
  add("versions", `version_policy { all {} }\n${io(["x"], "y", "TYPE_FP32", "-1, 4")}`, [1, 2]);
  add("scores", SCORES_CONFIG);
  add("broken", io(["a"], "sum", "TYPE_FP32", "-1, 4"), [1], "raise RuntimeError('broken')\n");
  return { ...files, "scores/labels.txt": SCORES_LABELS };
}

function io(inputs: readonly string[], output: string, type: string, dims: string): string {
  const tensor = (name: string) => `{ name: "${name}" data_type: ${type} dims: [ ${dims} ] }`;
  return `input [ ${inputs.map(tensor).join(", ")} ]\noutput [ ${tensor(output)} ]\n`;
}
