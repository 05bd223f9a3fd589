import assert from "node:assert/strict";
import { EXIT } from "../../server/commands/command.ts";
import { withFolder } from "../fixtures/with_folder.ts";
import { RecordedIo } from "../server/commands/recorded_io.ts";
import { answer } from "./fake_server.ts";
import { madeUpReport } from "./made_up_report.ts";
import { load } from "./mod.ts";

/** Runs `test` with the URL of a fake server. */
async function withServer(
  infer: (request: Request) => Response | Promise<Response>,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, (request) => answer(request, infer));
  await test(`http://127.0.0.1:${server.addr.port}`);
}

async function run(...argv: string[]): Promise<{ code: number; io: RecordedIo }> {
  const io = new RecordedIo();
  return { code: await load(argv, io), io };
}

const SHORT = ["--model", "toy", "--rate", "100", "--duration", "0.3", "--warmup", "0"];

Deno.test("load reports in every form, and compare reads what it wrote", async () => {
  const priorities: unknown[] = [];
  const infer = async (request: Request) => {
    const length = Number(request.headers.get("inference-header-content-length"));
    const body = await request.bytes();
    const header = JSON.parse(new TextDecoder().decode(body.subarray(0, length)));
    priorities.push(header.parameters.priority);
    return Response.json({});
  };
  await withServer(infer, (url) =>
    withFolder(async (folder) => {
      const [json, csv, html] = ["json", "csv", "html"].map((end) => `${folder}/report.${end}`);
      const { io } = await run(
        ...["--url", url, ...SHORT, "--priority", "3", "--arrivals", "constant"],
        ...["--json", json, "--csv", csv, "--html", html],
      );
      assert.match(io.stdout, /^toy +30 +30 /m);
      assert.deepEqual(priorities, Array.from({ length: 30 }, () => 3));
      const report = JSON.parse(await Deno.readTextFile(json));
      assert.equal(report.models[0].outcomes.ok, 30);
      assert.equal((await Deno.readTextFile(csv)).split("\r\n").length, 3);
      assert.match(await Deno.readTextFile(html), /^<!doctype html>/);
      const compared = await run("compare", json, json);
      assert.equal(compared.code, EXIT.ok);
      assert.match(compared.io.stdout, /^toy +goodput .* 0\.0%$/m);
    }));
});

Deno.test("load fails when a threshold is broken, and says which", async () => {
  await withServer(() => Response.json({ error: "full" }, { status: 429 }), async (url) => {
    const { code, io } = await run("--url", url, ...SHORT, "--fail-if", "errors>0.5", "p50>1");
    assert.equal(code, EXIT.failed);
    assert.equal(io.stderr, "Failed: toy: errors is 1, over 0.5\n");
    assert.match(io.stdout, /^toy +queue_full +\d+ +full$/m);
  });
});

Deno.test("load reports what there is when it is interrupted", async () => {
  const io = new RecordedIo();
  let asked = 0;
  const infer = () => {
    if (++asked === 3) io.stop();
    return Response.json({});
  };
  await withServer(infer, async (url) => {
    const flags = ["--url", url, "--model", "toy", "--rate", "50", "--duration", "600"];
    assert.equal(await load(flags, io), EXIT.failed);
    assert.match(io.stdout, /INTERRUPTED: this is a part of the run/);
  });
});

Deno.test("load says so when no server answers", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const { code, io } = await run("--url", `http://127.0.0.1:${port}`, ...SHORT);
  assert.equal(code, EXIT.failed);
  assert.match(io.stderr, /^Error: No server answers at http:\/\/127\.0\.0\.1:\d+: Connection ref/);
  assert.equal(io.stdout, "");
});

Deno.test("load reads a scenario file, whose trace names its wrong line", async () => {
  await withFolder(async (folder) => {
    const [file, trace] = [`${folder}/scenario.json`, `${folder}/trace.csv`];
    await Deno.writeTextFile(trace, "0\n1\n0.5\n");
    await Deno.writeTextFile(
      file,
      JSON.stringify({ arrivals: { kind: "trace", file: trace }, models: [{ name: "toy" }] }),
    );
    const { code, io } = await run("--scenario", file);
    assert.equal(code, EXIT.failed);
    assert.equal(
      io.stderr,
      `Error: ${trace}, line 3: the time 0.5 is before 1; expected ascending times\n`,
    );
  });
});

for (
  const [argv, message] of [
    [["--model", "a"], "There is no load; expected --rate or --concurrency"],
    [["--model", "a", "--rate", "0"], "The flags: arrivals.rate is 0; expected a number above 0"],
    [["--scenario", "/nowhere/s.json"], "/nowhere/s.json cannot be read: "],
    [
      ["--model", "a", "--rate", "1", "--fail-if", "p98>1"],
      '--fail-if "p98>1": there is no metric',
    ],
    [
      ["--model", "a", "--rate", "1", "--html", "/nowhere/at/all.html"],
      '--html is "/nowhere/at/all.html"; there is no folder "/nowhere/at"',
    ],
    [["compare", "a.json"], "Missing required argument 'B.json'"],
  ] as const
) {
  Deno.test(`load ${argv.join(" ")} is wrong usage`, async () => {
    const { code, io } = await run(...argv);
    assert.equal(code, EXIT.usage);
    assert.ok(io.stderr.startsWith(`Error: ${message}`), io.stderr);
  });
}

Deno.test("load compare names what differs in the scenarios, and models without a pair", async () => {
  await withFolder(async (folder) => {
    const [a, b] = [`${folder}/a.json`, `${folder}/b.json`];
    const write = (path: string, names: string[], url: string) => {
      const outcomes = ["ok"] as const;
      const report = madeUpReport(names.map((name) => ({ name, outcomes, millis: 1 })));
      const scenario = { ...report.scenario, url };
      return Deno.writeTextFile(path, JSON.stringify({ ...report, scenario }));
    };
    await write(a, ["toy", "left"], "http://a");
    await write(b, ["right", "toy"], "http://b");
    assert.equal(
      (await run("compare", a, b)).io.stderr,
      "Warning: the two scenarios differ in models\n" +
        `Warning: only ${a} has left\nWarning: only ${b} has right\n`,
    );
    await write(b, ["toy", "left"], "http://b");
    assert.equal((await run("compare", a, b)).io.stderr, "");
  });
});

Deno.test("load compare refuses what is no report", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/x.json`, "{}");
    const { code, io } = await run("compare", `${folder}/x.json`, `${folder}/x.json`);
    assert.equal(code, EXIT.failed);
    assert.match(io.stderr, /has the format undefined; expected "sluice-load-1"/);
  });
});
