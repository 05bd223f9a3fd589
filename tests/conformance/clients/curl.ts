/**
 * curl: what it does to HTTP that no other client here does.
 *
 * @module
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { temporaryFolder } from "../../../server/commands/temporary_folder.ts";
import { check, type CheckResult, type ClientSetting, program } from "./client.ts";
import { MAX_BODY_BYTES } from "./fixtures.ts";

/** What curl was told. */
interface CurlAnswer {
  /** Of every answer, the preliminary ones included. */
  readonly statuses: readonly number[];
  /** Of the last answer, e.g. `HTTP/1.1`. */
  readonly protocol: string;
  /** Of the last answer. */
  readonly headers: Headers;
  /** Of all answers, one after the other. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Bytes of body that the last request sent. */
  readonly uploaded: number;
  /** Connections that were opened. */
  readonly connections: number;
}

/** Runs curl; `{url}` in an argument stands for the gateway's, `@{body}` for a file of the body. */
type Curl = (args: readonly string[], body?: Uint8Array<ArrayBuffer>) => Promise<CurlAnswer>;

const encoder = new TextEncoder();

const RAW = ["-H", "Inference-Header-Content-Length: 0"];
const INFER = "{url}/v2/models/FP32/infer";
const JSON_BODY = encoder.encode(
  '{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2]}]}',
);
const JSON_ANSWER =
  '{"model_name":"FP32","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[2],' +
  '"data":[1.0,2.0]}]}';
/** 8 MiB of FP32. */
const BIG = new Uint8Array(8 << 20).fill(0x3f);
const TOO_BIG = new Uint8Array(MAX_BODY_BYTES + 1);

const CHECKS: Readonly<Record<string, (curl: Curl) => Promise<void>>> = {
  "-d of a JSON body": async (curl) => {
    const answer = await curl(["-d", "@{body}", INFER], JSON_BODY);
    succeeded(answer);
    assert.equal(text(answer), JSON_ANSWER);
    assert.equal(answer.headers.get("content-type"), "application/json");
  },
  "--json": async (curl) => {
    const answer = await curl(["--json", "@{body}", INFER], JSON_BODY);
    assert.equal(text(answer), JSON_ANSWER);
  },
  "--data-binary of 20 MiB without a content type": async (curl) => {
    const padded = new Uint8Array(20 << 20).fill(0x20);
    padded.set(JSON_BODY);
    const answer = await curl(["--data-binary", "@{body}", INFER], padded);
    succeeded(answer);
    assert.equal(text(answer), JSON_ANSWER);
  },
  "--data-binary of a raw tensor": async (curl) => {
    const answer = await curl(["--data-binary", "@{body}", ...RAW, INFER], BIG);
    succeeded(answer);
    echoed(answer);
  },
  "Expect: 100-continue": async (curl) => {
    const expect = ["-H", "Expect: 100-continue", "--expect100-timeout", "60"];
    const answer = await curl(["--data-binary", "@{body}", ...expect, ...RAW, INFER], BIG);
    assert.deepEqual(answer.statuses, [100, 200]);
    echoed(answer);
  },
  "Expect: 100-continue with a body that is too large": async (curl) => {
    const expect = ["-H", "Expect: 100-continue", "--expect100-timeout", "60"];
    const answer = await curl(["--data-binary", "@{body}", ...expect, INFER], TOO_BIG);
    // Deno sends the 100 by itself, so the refusal comes when curl has begun to send.
    refused(answer, 413);
    assert.ok(answer.uploaded < TOO_BIG.length, "curl sent all of it in vain");
  },
  "a body that is too large": async (curl) => {
    refused(await curl(["--data-binary", "@{body}", "-H", "Expect:", INFER], TOO_BIG), 413);
  },
  "a chunked upload": async (curl) => {
    const chunked = ["-X", "POST", "-H", "Transfer-Encoding: chunked", "-H", "Expect:"];
    for (const [body, more] of [[JSON_BODY, []], [BIG, RAW]] as const) {
      const answer = await curl(["-T", "-", ...chunked, ...more, INFER], body);
      succeeded(answer);
      if (body === BIG) echoed(answer);
      else assert.equal(text(answer), JSON_ANSWER);
    }
  },
  "a chunked upload that is too large": async (curl) => {
    const args = ["-T", "-", "-X", "POST", "-H", "Transfer-Encoding: chunked", INFER];
    refused(await curl(args, TOO_BIG), 413);
  },
  "--compressed": async (curl) => {
    const answer = await curl(["--compressed", "-d", "@{body}", INFER], JSON_BODY);
    succeeded(answer);
    assert.match(answer.headers.get("content-encoding") ?? "none", /^(gzip|deflate)$/);
    assert.equal(text(answer), JSON_ANSWER);
  },
  "a gzip body": async (curl) => {
    const args = ["-H", "Content-Encoding: gzip", "--data-binary", "@{body}", INFER];
    const answer = await curl(args, new Uint8Array(gzipSync(JSON_BODY)));
    assert.equal(text(answer), JSON_ANSWER);
    refused(await curl(args, JSON_BODY), 400);
    const other = args.with(1, "Content-Encoding: br");
    const unknown = await curl(other, JSON_BODY);
    refused(unknown, 501);
    assert.equal(unknown.headers.get("accept-encoding"), "gzip, deflate");
  },
  "-I": async (curl) => {
    const url = "{url}/v2/health/ready";
    const answer = await curl(["-I", url, url]);
    assert.deepEqual(answer.statuses, [405, 405]);
    assert.equal(answer.headers.get("allow"), "GET");
    assert.equal(answer.connections, 0, "a body after HEAD would have cost the connection");
  },
  "other methods": async (curl) => {
    for (const method of ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"]) {
      const answer = await curl(["-X", method, INFER]);
      refused(answer, 405);
      assert.equal(answer.headers.get("allow"), "POST");
    }
    refused(await curl([INFER]), 405);
  },
  "--path-as-is": async (curl) => {
    for (
      const path of [
        "/v2/models/../../etc/passwd",
        "/v2/models/../health/ready",
        "/v2/models/%2e%2e",
        "/v2/models/%2e%2e%2fadd",
        "/v2/models/..",
        "/v2/models//add",
        "/v2//health/ready",
        "/v2/health/ready/",
        "/../v2/health/ready",
        "/",
      ]
    ) {
      refused(await curl(["--path-as-is", `{url}${path}`]), 404);
    }
    refused(await curl(["--path-as-is", "-X", "POST", "{url}/v2/repository/models/../load"]), 404);
  },
  "--http1.0": async (curl) => {
    const answer = await curl(["--http1.0", "-d", "@{body}", INFER], JSON_BODY);
    succeeded(answer);
    assert.equal(answer.protocol, "HTTP/1.0");
    assert.equal(text(answer), JSON_ANSWER);
  },
  "one connection for several URLs": async (curl) => {
    const url = "{url}/v2/health/live";
    const answer = await curl([url, url, url]);
    assert.deepEqual(answer.statuses, [200, 200, 200]);
    assert.equal(answer.connections, 0, "the last request has to open no connection");
  },
  "an error leaves the connection usable": async (curl) => {
    const answer = await curl(["-d", "{", INFER, "{url}/v2/models/nobody/infer"]);
    assert.deepEqual(answer.statuses, [400, 404]);
    assert.equal(answer.connections, 0, "the last request has to open no connection");
  },
  "a query, a fragment, another Host": async (curl) => {
    succeeded(await curl(["-G", "-d", "a=b/../c", "{url}/v2/health/ready#part"]));
    succeeded(await curl(["-H", "Host: models.example", "{url}/v2/health/ready"]));
  },
  "-F and an empty -d are no inference": async (curl) => {
    refused(await curl(["-F", "file=@{body}", INFER], JSON_BODY), 400);
    refused(await curl(["-d", "", INFER]), 400);
  },
  "metrics": async (curl) => {
    const answer = await curl(["--compressed", "{url}/metrics"]);
    succeeded(answer);
    assert.match(text(answer), /^nv_inference_request_success\{model="FP32",version="1"\} \d+$/m);
  },
};

/** Runs every check. */
export async function* curlChecks(setting: ClientSetting): AsyncGenerator<CheckResult> {
  await program("curl", ["--version"]);
  setting.progress("Asking with curl");
  for (const [name, run] of Object.entries(CHECKS)) {
    yield await check(name, async () => {
      await using folder = await temporaryFolder();
      await run((args, body) => curl(setting.address, folder.path, args, body));
    });
  }
}

async function curl(
  address: string,
  folder: string,
  args: readonly string[],
  body?: Uint8Array<ArrayBuffer>,
): Promise<CurlAnswer> {
  const bodyFile = join(folder, "body");
  const headerFile = join(folder, "headers");
  if (body !== undefined) await Deno.writeFile(bodyFile, body);
  const { code, stdout, text } = await program("curl", [
    ...["-sS", "--disable", "--max-time", "60", "--dump-header", headerFile],
    ...["--write-out", "%{stderr}%{size_upload} %{num_connects}\n"],
    ...args.map((arg) =>
      arg.replace("{url}", `http://${address}`).replace("@{body}", `@${bodyFile}`)
    ),
  ], { input: args.includes("-") ? body : undefined });
  const blocks = (await Deno.readTextFile(headerFile)).split("\r\n\r\n").filter(Boolean);
  assert.ok(blocks.length > 0, `no answer: ${text}`);
  assert.equal(code, 0, text.slice(-500));
  const lines = blocks.map((block) => block.split("\r\n"));
  const last = lines[lines.length - 1];
  const [, uploaded, connections] = /(\d+) (\d+)\n$/.exec(text)!;
  return {
    statuses: lines.map(([status]) => Number(status.split(" ")[1])),
    protocol: last[0].split(" ")[0],
    headers: new Headers(
      last.slice(1).map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    ),
    body: stdout,
    uploaded: Number(uploaded),
    connections: Number(connections),
  };
}

function text({ body }: CurlAnswer): string {
  return new TextDecoder().decode(body);
}

function succeeded(answer: CurlAnswer): void {
  assert.equal(answer.statuses.at(-1), 200, text(answer).slice(0, 500));
}

/** The status, and an error as JSON. */
function refused(answer: CurlAnswer, status: number): void {
  assert.equal(answer.statuses.at(-1), status, text(answer).slice(0, 500));
  assert.match(text(answer), /^\{"error":".+"\}$/);
}

/** The answer holds the big tensor again. */
function echoed({ headers, body }: CurlAnswer): void {
  const headerLength = Number(headers.get("inference-header-content-length"));
  assert.ok(headerLength > 0, "no Inference-Header-Content-Length");
  assert.equal(body.length - headerLength, BIG.length);
  assert.ok(body.subarray(headerLength).every((byte) => byte === 0x3f), "other values came back");
}
