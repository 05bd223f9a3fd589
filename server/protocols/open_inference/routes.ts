/**
 * The routes of the Open Inference Protocol v2 with Triton's extensions.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { Engine, ServedModel } from "../../engine/api.ts";
import type { AdminGuard } from "../admin.ts";
import { generate, type GenerateOptions, generateStream } from "../generate/generate.ts";
import { parseFields, readFields, readPlainBody } from "../json_body.ts";
import type { Route, RouteCall } from "../router.ts";
import { emptyBody, jsonBody } from "../status.ts";
import { infer, type InferOptions, type Target } from "./infer.ts";
import { modelMetadata, serverMetadata } from "./metadata.ts";
import {
  checkUnloadRequest,
  decodeIndexRequest,
  decodeLoadRequest,
  indexRow,
} from "./repository_requests.ts";
import { fullStatisticsReport, statisticsReport } from "./statistics.ts";

/** What the routes need. */
export interface RoutesOptions extends InferOptions, GenerateOptions {
  /** Who may load and unload. */
  readonly guard: AdminGuard;
  /** Broken models in the repository make the server unready. */
  readonly strictReadiness: boolean;
}

const IN_VERSION = "/versions/:version{[0-9]+}";

/** All of them. */
export function openInferenceRoutes(options: RoutesOptions): readonly Route[] {
  const { engine } = options;
  return [
    get("/v2", () => jsonBody(serverMetadata())),
    get("/v2/health/live", () => {
      if (!engine.live) throw new SluiceError("device_failed", "The device has failed for good");
      return emptyBody("text/plain");
    }),
    get("/v2/health/ready", () => {
      const reason = readiness(engine, options.strictReadiness);
      if (reason !== undefined) throw new SluiceError("not_ready", reason);
      return emptyBody("text/plain");
    }),
    get("/v2/models/stats", () => jsonBody(fullStatisticsReport(engine.served(), engine.memory()))),
    ...["/v2/models/:model", `/v2/models/:model${IN_VERSION}`].flatMap((path) =>
      modelRoutes(path, options)
    ),
    ...repositoryRoutes(options),
  ];
}

function get(path: string, handle: Route["handle"]): Route {
  return { methods: ["GET"], path, handle };
}

function post(path: string, handle: Route["handle"]): Route {
  return { methods: ["POST"], path, handle };
}

/** The routes below one model or one version of it. */
function modelRoutes(path: string, options: RoutesOptions): readonly Route[] {
  const { engine } = options;
  const find = (call: RouteCall): ServedModel => {
    const { name, version } = targetOf(call.segments);
    return engine.find(name, version);
  };
  /** The version that was named, or all of them. */
  const named = (call: RouteCall, served: ServedModel): readonly ServedModel[] =>
    targetOf(call.segments).version === undefined ? engine.versions(served.model.name) : [served];
  return [
    get(path, (call) => {
      const served = find(call);
      return jsonBody(modelMetadata(served.model, named(call, served)));
    }),
    get(`${path}/ready`, (call) => {
      find(call);
      return emptyBody("text/plain");
    }),
    get(`${path}/config`, (call) => jsonBody(find(call).model.config)),
    get(`${path}/stats`, (call) => jsonBody(statisticsReport(named(call, find(call))))),
    post(`${path}/infer`, (call) => infer(call.request, targetOf(call.segments), options)),
    post(`${path}/generate`, (call) => generate(call.request, targetOf(call.segments), options)),
    post(
      `${path}/generate_stream`,
      (call) => generateStream(call.request, targetOf(call.segments), options),
    ),
  ];
}

/** The model and version of `v2/models/{model}[/versions/{version}]...`; `01` is version 1. */
function targetOf(segments: readonly string[]): Target {
  const version = segments[3] === "versions" ? segments[4] : undefined;
  return { name: segments[2], version: version?.replace(/^0+(?=\d)/, "") };
}

/** The target of an inference's path, or undefined for any other path: no router needed. */
export function inferTarget(path: string): Target | undefined {
  if (!path.startsWith("/v2/models/") || !path.endsWith("/infer")) return undefined;
  const name = path.slice("/v2/models/".length, -"/infer".length);
  return name === "" || name.includes("/") ? undefined : { name, version: undefined };
}

function repositoryRoutes(options: RoutesOptions): readonly Route[] {
  const { engine, guard } = options;
  const index = async ({ request }: RouteCall) => {
    const onlyReady = decodeIndexRequest(await readFields(request, options.maxBodyBytes));
    const rows = await engine.index();
    return jsonBody(rows.filter(({ state }) => !onlyReady || state === "READY").map(indexRow));
  };
  const load = async ({ request, info, segments }: RouteCall) => {
    guard(request, info);
    const body = await readPlainBody(
      request,
      options.maxBodyBytes,
      options.bodies,
      (...given) => options.codecs.decompress(...given),
    );
    const override = body.byteLength < options.jsonOffLoopBytes
      ? decodeLoadRequest(parseFields(body))
      : await options.codecs.decodeLoad(body);
    await engine.load(segments[3], override);
    return emptyBody("application/json");
  };
  const unload = async ({ request, info, segments }: RouteCall) => {
    guard(request, info);
    checkUnloadRequest(await readFields(request, options.maxBodyBytes));
    await engine.unload(segments[3]);
    return emptyBody("application/json");
  };
  const named = () => {
    throw new SluiceError(
      "unsupported",
      "Repositories have no names here: leave it out of the path",
    );
  };
  return [
    post("/v2/repository/index", index),
    post("/v2/repository/:repository/index", index),
    post("/v2/repository/models/:model/load", load),
    post("/v2/repository/models/:model/unload", unload),
    post("/v2/repository/:repository/models/:model/load", named),
    post("/v2/repository/:repository/models/:model/unload", named),
  ];
}

/** Why the server is not ready, or undefined. */
function readiness(engine: Engine, strict: boolean): string | undefined {
  return engine.notReadyReason() ?? (strict ? engine.brokenModels()[0] : undefined);
}
