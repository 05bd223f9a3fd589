/** The first command that a user runs, as the user runs it. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TEXT = new URL("../../server/commands/demo/picture.txt", import.meta.url);
const LINES = 6;

Deno.test("deno task demo reads the picture, and its curl lines work", async () => {
  const picture = await Deno.readTextFile(TEXT);
  await using demo = new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "demo", "--port", "0"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(demo.stderr).text();
  const output = demo.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  while (!printed.endsWith(`\n\n${picture}`)) {
    const { value, done } = await output.read();
    if (done) assert.fail(`It ended with:\n${printed}\n${await errors}`);
    printed += value;
  }

  const lines = printed.split("\n").filter((line) => line.startsWith("curl "));
  assert.equal(lines.length, LINES);
  const [digit, wine, story, metadata, statistics, metrics] = await Promise.all(lines.map(pasted));
  assert.match(JSON.parse(digit).outputs[0].data[0], /:7$/);
  assert.deepEqual(JSON.parse(wine).outputs[0].data, [0]);
  assert.match(JSON.parse(story).text_output, /\w+ \w+/);
  assert.equal(JSON.parse(metadata).name, "digits");
  assert.equal(JSON.parse(statistics).model_stats[0].name, "digits");
  assert.match(metrics, /^nv_inference_request_success\{model="digits",version="1"\} /m);

  demo.kill("SIGINT");
  const { code } = await demo.status;
  assert.equal(code, 0, await errors);
});

/** What a shell answers to a line; without curl, what its request gets. */
async function pasted(line: string): Promise<string> {
  if (await hasCurl()) {
    const { success, stdout } = await new Deno.Command("sh", { args: ["-c", line] }).output();
    assert.ok(success, line);
    return new TextDecoder().decode(stdout);
  }
  const [, url, body] = /^curl -s (\S+)(?: -d '([^']*)')?$/.exec(line) ?? assert.fail(line);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(url, body === undefined ? {} : { method: "POST", headers, body });
  assert.equal(response.status, 200, line);
  return await response.text();
}

async function hasCurl(): Promise<boolean> {
  try {
    return (await new Deno.Command("curl", { args: ["--version"] }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
