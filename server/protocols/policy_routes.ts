/**
 * `/v2/policy`: which scheduling policy runs, and switching it.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { Engine } from "../engine/api.ts";
import type { AdminGuard } from "./admin.ts";
import { readFields } from "./json_body.ts";
import type { Route, RouteCall } from "./router.ts";
import { jsonBody } from "./status.ts";

/** What the routes need. */
export interface PolicyRoutesOptions {
  /** Whose policy it is. */
  readonly engine: Engine;
  /** Who may switch it. */
  readonly guard: AdminGuard;
  /** Largest request body. */
  readonly maxBodyBytes: number;
}

/**
 * `GET` shows the policy in force, and why it is fifo when the chosen one broke; `PUT` or
 * `POST {"name": "fair"}` switches, and needs admin rights.
 */
export function policyRoutes({ engine, guard, maxBodyBytes }: PolicyRoutesOptions): Route[] {
  const change = async (request: Request) => {
    const { name } = await readFields(request, maxBodyBytes);
    if (typeof name !== "string") {
      throw new SluiceError(
        "invalid_argument",
        `'name' is missing or no string, expected one of ${engine.policy().available.join(", ")}`,
      );
    }
    engine.setPolicy(name);
  };
  return [{
    methods: ["GET", "PUT", "POST"],
    path: "/v2/policy",
    async handle({ request, info }: RouteCall) {
      if (request.method !== "GET") {
        guard(request, info);
        await change(request);
      }
      return jsonBody(engine.policy());
    },
  }];
}
