/**
 * Routes by raw path: what a client percent-encodes is compared as it stands, so no escape reaches a
 * model name. Wrong methods are 405 with `Allow`, HEAD included, as in Triton.
 *
 * @module
 */
import { Hono } from "hono";
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import { type ErrorResponder, MethodNotAllowed } from "./status.ts";

/** A request at a route. */
export interface RouteCall {
  /** As it came. */
  readonly request: Request;
  /** Who called. */
  readonly info: Deno.ServeHandlerInfo;
  /** The path's segments as they came, the empty one before the first slash left out. */
  readonly segments: readonly string[];
}

/** One route. */
export interface Route {
  /** Methods it answers; all others are refused. */
  readonly methods: readonly string[];
  /** Hono's pattern. */
  readonly path: string;
  /** Answers a request; what it throws becomes an error response. */
  readonly handle: (call: RouteCall) => Response | Promise<Response>;
}

/** Answers a request by the routes. Never rejects. */
export type Router = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

/** The path of a URL as it was sent: without query, nothing decoded or resolved. */
export function rawPath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

/** Makes the router. */
export function createRouter(routes: readonly Route[], errorResponse: ErrorResponder): Router {
  const hono = new Hono<{ Bindings: Deno.ServeHandlerInfo }>({
    getPath: (request) => rawPath(request.url),
  });
  for (const { methods, path, handle } of routes) {
    hono.all(path, ({ req, env }) => {
      if (!methods.includes(req.raw.method)) throw new MethodNotAllowed(req.raw.method, methods);
      return handle({ request: req.raw, info: env, segments: req.path.split("/").slice(1) });
    });
  }
  hono.notFound(({ req }) =>
    errorResponse(new SluiceError("not_found", `There is no route ${req.path}; /docs shows all`))
  );
  hono.onError((fault) => errorResponse(toSluiceError(fault)));
  return (request, info) => hono.fetch(request, info);
}
