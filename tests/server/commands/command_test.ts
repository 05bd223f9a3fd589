import assert from "node:assert/strict";
import { SluiceError } from "../../../models/errors.ts";
import { defineCommand, EXIT, type Run, UsageError } from "../../../server/commands/command.ts";
import { RecordedIo } from "./recorded_io.ts";

const fetchFruit = (act: (name: string) => number = () => EXIT.ok): Run =>
  defineCommand(
    "fruit",
    (command) =>
      command.description("Fetch a fruit.").argument("<name>", "Which one.").option("--ripe"),
    (command) => Promise.resolve(act(command.args[0])),
  );

async function run(command: Run, ...argv: string[]): Promise<[number, string, string]> {
  const io = new RecordedIo();
  return [await command(argv, io), io.stdout, io.stderr];
}

Deno.test("defineCommand() gives the exit code of what the command does", async () => {
  assert.deepEqual(await run(fetchFruit(() => 7), "apple"), [7, "", ""]);
});

Deno.test("defineCommand() shows help on standard output and succeeds", async () => {
  const [code, stdout, stderr] = await run(fetchFruit(), "--help");
  assert.equal(code, EXIT.ok);
  assert.match(stdout, /^Usage: deno task fruit \[options\] <name>\n/);
  assert.equal(stderr, "");
});

Deno.test("defineCommand() suggests the near match of an unknown flag", async () => {
  assert.deepEqual(await run(fetchFruit(), "apple", "--rip"), [
    EXIT.usage,
    "",
    "Error: Unknown option '--rip' (Did you mean --ripe?)\n",
  ]);
});

Deno.test("defineCommand() refuses missing and excess arguments", async () => {
  const [missing, , missingText] = await run(fetchFruit());
  assert.equal(missing, EXIT.usage);
  assert.equal(missingText, "Error: Missing required argument 'name'\n");
  const [excess, , excessText] = await run(fetchFruit(), "apple", "pear");
  assert.equal(excess, EXIT.usage);
  assert.match(excessText, /^Error: Too many arguments.*1 argument but got 2.*\n$/);
});

Deno.test("defineCommand() prints errors in one line and tells usage from failure", async () => {
  const failing = (error: unknown) =>
    run(
      fetchFruit(() => {
        throw error;
      }),
      "apple",
    );
  assert.deepEqual(await failing(new UsageError("No such fruit")), [
    EXIT.usage,
    "",
    "Error: No such fruit\n",
  ]);
  assert.deepEqual(await failing(new SluiceError("not_found", "Gone\n  for good")), [
    EXIT.failed,
    "",
    "Error: Gone for good\n",
  ]);
  assert.deepEqual(await failing("a thrown string"), [
    EXIT.failed,
    "",
    "Error: a thrown string\n",
  ]);
});
