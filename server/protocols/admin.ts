/**
 * Who may call the routes that change anything: whoever knows the admin key, or, where none is set,
 * whoever sits on this machine.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { SluiceError } from "../../models/errors.ts";

/** Checks a request; throws a `forbidden` SluiceError when it may not. */
export type AdminGuard = (request: Request, info: Deno.ServeHandlerInfo) => void;

/**
 * Makes the guard.
 *
 * @param adminKey Expected as `Authorization: Bearer KEY` or `x-admin-key: KEY`. Without one only
 *   loopback may call: not through a proxy, which makes everybody local, and not from a web page of
 *   another origin, which a browser on this machine may have open.
 */
export function adminGuard(adminKey: string | undefined): AdminGuard {
  return adminKey === undefined || adminKey === "" ? requireLoopback : requireKey(adminKey);
}

function requireKey(adminKey: string): AdminGuard {
  const expected = digest(adminKey);
  return ({ headers }) => {
    const bearer = /^Bearer +(.+)$/i.exec(headers.get("authorization") ?? "");
    const given = headers.get("x-admin-key") ?? bearer?.[1];
    if (given === undefined) {
      throw forbidden(
        "This route needs the admin key: send it as 'Authorization: Bearer KEY' or 'x-admin-key: KEY'",
      );
    }
    if (!timingSafeEqual(digest(given), expected)) {
      throw forbidden("The admin key given is not this server's");
    }
  };
}

/** Equal lengths for the comparison, whatever was given. */
function digest(key: string): Uint8Array {
  return createHash("sha256").update(key).digest();
}

function requireLoopback({ headers }: Request, { remoteAddr }: Deno.ServeHandlerInfo): void {
  if ("hostname" in remoteAddr && !isLoopback(remoteAddr.hostname)) {
    throw forbidden(
      `This route may only be called from this machine, and came from ${remoteAddr.hostname}: ` +
        "start the server with an admin key to call it from elsewhere",
    );
  }
  if (headers.has("x-forwarded-for") || headers.has("forwarded")) {
    throw forbidden(
      "This route may only be called from this machine, and came through a proxy: " +
        "start the server with an admin key to call it so",
    );
  }
  const origin = headers.get("origin");
  if (origin !== null && !isLoopback(URL.parse(origin)?.hostname ?? "")) {
    throw forbidden(
      `This route may only be called from this machine, and came from a page of ${origin}: ` +
        "start the server with an admin key to call it so",
    );
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" ||
    /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(host);
}

function forbidden(message: string): SluiceError {
  return new SluiceError("forbidden", message);
}
