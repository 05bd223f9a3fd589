/** A policy of the user's own, in a file outside the project, given by flag and switched under load. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { POLICIES } from "../../policies/mod.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { BUSY_MODELS, KnownRequests, ONE_AT_A_TIME } from "./busy_gateway.ts";
import { entriesOf, readDecisionLog } from "./decision_log.ts";

const REQUESTS = 200;
const LONGEST = 60;

Deno.test("a user's policy is left and come back to with 200 requests in flight", async () => {
  const source = await Deno.readTextFile(new URL("fullest_first.ts", import.meta.url));
  assert.ok(source.trimEnd().split("\n").length <= LONGEST);
  await using elsewhere = await repositoryWith({ "mine.ts": source });
  await using repository = await repositoryWith(BUSY_MODELS);
  const log = join(elsewhere.path, "decisions.jsonl");
  await using gateway = GatewayProcess.start(
    ...["--repository", repository.path, "--policy", join(elsewhere.path, "mine.ts")],
    ...["--decision-log", log, ...ONE_AT_A_TIME],
  );
  const url = await gateway.serving;
  const requests = await KnownRequests.learn(url);

  const { answered } = await requests.pile(REQUESTS);
  assert.deepEqual(await policyOf(url), {
    name: "fullest_first",
    available: [...POLICIES.keys(), "fullest_first"],
  });
  await switchTo(url, "fair");
  await requests.waiting((waiting) => waiting <= REQUESTS - 50);
  await switchTo(url, "fullest_first");
  await answered;
  gateway.kill("SIGTERM");
  assert.equal(await gateway.exitCode(), 0, gateway.stderr);

  const entries = await readDecisionLog(log);
  const [, away, back] = entries.flatMap(({ event }, at) => event === "policy" ? [at] : []);
  const started = (from: number, to?: number) => entriesOf(entries.slice(from, to), "start");
  const waiting = (at: number) =>
    entriesOf(entries.slice(0, at), "arrive").length -
    started(0, at).reduce((sum, { requests }) => sum + requests.length, 0);
  assert.ok(waiting(away) >= REQUESTS, `${waiting(away)} waited when it was left`);
  assert.ok(waiting(back) > 0, `${waiting(back)} waited when it was come back to`);
  const ours = ["fullest", "has waited"];
  assert.ok(started(0, away).every(({ because }) => ours.includes(because)));
  assert.ok(started(away, back).length >= 50);
  assert.ok(started(away, back).every(({ because }) => !ours.includes(because)));
  assert.ok(started(back).length > 0);
  assert.ok(started(back).every(({ because }) => ours.includes(because)));

  const arrived = entriesOf(entries, "arrive").map(({ request }) => request);
  const ran = started(0).flatMap(({ requests }) => requests);
  assert.deepEqual(ran.toSorted((a, b) => a - b), arrived, "each ran exactly once");
});

async function policyOf(server: string): Promise<unknown> {
  return await (await fetch(`${server}/v2/policy`)).json();
}

async function switchTo(server: string, name: string): Promise<void> {
  const body = JSON.stringify({ name });
  const response = await fetch(`${server}/v2/policy`, { method: "PUT", body });
  assert.equal(response.status, 200, await response.text());
}
