import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { EXIT } from "../../../server/commands/command.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const { tasks }: { tasks: Record<string, { description: string; command: string }> } = JSON.parse(
  await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)),
);
/** Those that are commands of this project, and take its flags. */
const COMMANDS = Object.keys(tasks).filter((name) => tasks[name].command.startsWith("deno run "));

async function runTask(name: string, ...flags: string[]): Promise<[number, string]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", name, ...flags],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return [code, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)];
}

Deno.test("every task says what it does, and asks no question", () => {
  assert.ok(COMMANDS.length >= 8);
  for (const [name, { description, command }] of Object.entries(tasks)) {
    assert.match(description, /^[A-Z].*\.$/, name);
    if (COMMANDS.includes(name)) assert.match(command, / --no-prompt /, name);
  }
});

for (const name of COMMANDS) {
  Deno.test(`deno task ${name} --help works with the task's permissions`, async () => {
    const [code, text] = await runTask(name, "--help");
    assert.equal(code, EXIT.ok, text);
    assert.match(text, /^Usage: deno task [\w:-]+ \[options\]/);
  });
}

Deno.test("deno task passes on the exit code of wrong flags", async () => {
  assert.deepEqual(await runTask("start", "--polcy", "fair"), [
    EXIT.usage,
    "Error: Unknown option '--polcy' (Did you mean --policy?)\n",
  ]);
});
