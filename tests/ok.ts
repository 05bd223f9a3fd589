/**
 * `deno task ok`: all that has to be in order before a change is handed in.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineCommand, EXIT, type Run, runAsProcess } from "../server/commands/command.ts";
import { withProgress } from "../server/commands/progress.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Check {
  /** What is checked, in a word or two. */
  readonly what: string;
  /** Arguments of `deno`. */
  arguments(): Promise<readonly string[]>;
}

const STATIC: readonly Check[] = [
  { what: "Format", arguments: () => Promise.resolve(["fmt", "--check"]) },
  { what: "Lint", arguments: () => Promise.resolve(["lint"]) },
  { what: "Types", arguments: () => Promise.resolve(["check", "--quiet", "."]) },
];

const DOCUMENTATION: Check = {
  what: "Documentation",
  arguments: async () => ["doc", "--lint", ...await sourceFiles()],
};

const TESTS: Check = {
  what: "Tests",
  arguments: () => Promise.resolve(["test", "--no-prompt", "--allow-all", "--quiet", "tests"]),
};

const AFTER_HELP = `
Runs every check even when one fails, and shows what those that failed have to say.

Exit codes: 0 all in order; 1 something is not; 2 wrong flags.
`;

/** Runs the checks. */
export const ok: Run = defineCommand(
  "ok",
  (command) =>
    command.description("Check format, lint, types and documentation, and run all tests.")
      .option("--static", "Format, lint and types only.")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const checks = command.opts<{ static?: true }>().static
      ? STATIC
      : [...STATIC, DOCUMENTATION, TESTS];
    let failed = 0;
    for (const check of checks) {
      const args = await check.arguments();
      const { success, output } = await withProgress(io, check.what, deno(args));
      if (!success) {
        failed++;
        io.err(output);
      }
      io.out(`${check.what}: ${success ? "in order" : "not in order"}\n`);
    }
    return failed === 0 ? EXIT.ok : EXIT.failed;
  },
);

async function deno(args: readonly string[]): Promise<{ success: boolean; output: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
  }).output();
  const decoder = new TextDecoder();
  return { success, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** All modules but the tests. */
async function sourceFiles(): Promise<string[]> {
  const files: string[] = [];
  for (const folder of ["ffi", "models", "policies", "server"]) {
    for (const path of await readdir(ROOT + folder, { recursive: true })) {
      if (path.endsWith(".ts") && !path.endsWith(".d.ts")) files.push(`${folder}/${path}`);
    }
  }
  return files;
}

if (import.meta.main) await runAsProcess(ok);
