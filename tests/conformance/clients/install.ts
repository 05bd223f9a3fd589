/**
 * Installs clients into folders of their own, each by its own package index's client. What is there
 * from an earlier run is used again.
 *
 * @module
 */
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ClientSetting, program, Unavailable } from "./client.ts";

const REQUIREMENTS = fileURLToPath(new URL("./requirements.txt", import.meta.url));

/** The last wheel of tritonclient that has perf_analyzer in it, which needs the other two. */
const PERF_ANALYZER_WHEEL = "tritonclient==2.41.0";
const CUDA_RUNTIME = "nvidia-cuda-runtime-cu12==12.9.79";
const LIBB64 = "libb64-0d";

/** A program with the environment that it needs. */
export interface InstalledProgram {
  /** Its name on PATH, or its path. */
  readonly command: string;
  /** Variables to set for it. */
  readonly env: Record<string, string>;
}

/** A Python that has what `requirements.txt` names; the path of its interpreter. */
export async function installPython(setting: ClientSetting): Promise<string> {
  return await installPackages(setting, "python", await Deno.readTextFile(REQUIREMENTS));
}

/**
 * A Python of its own with packages.
 *
 * @param name Of its folder.
 * @param requirements As in a requirements file.
 * @returns The path of its interpreter.
 */
export async function installPackages(
  setting: ClientSetting,
  name: string,
  requirements: string,
): Promise<string> {
  const folder = join(setting.installFolder, name);
  const interpreter = join(folder, Deno.build.os === "windows" ? "Scripts" : "bin", "python");
  await installOnce(folder, requirements, async () => {
    setting.progress(`Installing ${requirements.trim().replaceAll("\n", ", ")}`);
    await must("python3", ["-m", "venv", "--clear", folder]);
    const file = join(folder, "requirements.txt");
    await Deno.writeTextFile(file, requirements);
    await must(interpreter, ["-m", "pip", "install", "--quiet", "--requirement", file]);
  });
  return interpreter;
}

/** perf_analyzer: the one on PATH, else one in a folder of its own. */
export async function installPerfAnalyzer(setting: ClientSetting): Promise<InstalledProgram> {
  if (await starts({ command: "perf_analyzer", env: {} })) {
    return { command: "perf_analyzer", env: {} };
  }
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    throw new Unavailable("perf_analyzer is not on PATH; its wheel is for Linux on x86-64 alone");
  }
  const folder = join(setting.installFolder, "perf_analyzer");
  const python = await installPython(setting);
  await installOnce(folder, [PERF_ANALYZER_WHEEL, CUDA_RUNTIME, LIBB64].join("\n"), async () => {
    setting.progress("Installing perf_analyzer");
    const pip = ["-m", "pip", "--quiet"];
    await must(python, [...pip, "download", "--no-deps", "--dest", folder, PERF_ANALYZER_WHEEL]);
    await must(python, ["-m", "zipfile", "--extract", await only(folder, ".whl"), folder]);
    await must(python, [...pip, "install", "--no-deps", "--target", folder, CUDA_RUNTIME]);
    await must("apt-get", ["--quiet", "download", LIBB64], folder);
    await must("dpkg-deb", ["--extract", await only(folder, ".deb"), folder]);
    await Deno.chmod(perfAnalyzerIn(folder), 0o755);
  });
  const libraries = ["usr/lib/x86_64-linux-gnu", "nvidia/cuda_runtime/lib"];
  const installed = {
    command: perfAnalyzerIn(folder),
    env: { LD_LIBRARY_PATH: libraries.map((path) => join(folder, path)).join(delimiter) },
  };
  if (await starts(installed)) return installed;
  throw new Unavailable(`${installed.command} does not start here`);
}

function perfAnalyzerIn(folder: string): string {
  return join(folder, "tritonclient-2.41.0.data/data/bin/perf_analyzer");
}

async function starts({ command, env }: InstalledProgram): Promise<boolean> {
  try {
    return (await program(command, ["--version"], { env })).text.includes("Perf Analyzer Version");
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}

/** Fills a folder unless an earlier run filled it with the same: the last thing written says what. */
async function installOnce(
  folder: string,
  what: string,
  install: () => Promise<void>,
): Promise<void> {
  const stamp = join(folder, "installed.txt");
  if (await Deno.readTextFile(stamp).catch(() => undefined) === what) return;
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  await install();
  await Deno.writeTextFile(stamp, what);
}

async function must(command: string, args: readonly string[], cwd?: string): Promise<void> {
  const { code, text } = await program(command, args, { cwd });
  if (code === 0) return;
  throw new Unavailable(`${command} ${args.join(" ")} failed: ${text.trim()}`);
}

async function only(folder: string, ending: string): Promise<string> {
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(ending)) return join(folder, name);
  }
  throw new Unavailable(`No ${ending} file was downloaded into ${folder}`);
}
