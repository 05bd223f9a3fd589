/**
 * What a model's source is, from how it is written on a command line.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { messageOf, SluiceError } from "../errors.ts";
import { containedPath } from "../repository/names.ts";

/** Where a model comes from. */
export type Source =
  /** A file or a folder on this machine. */
  | { readonly kind: "path"; readonly path: string }
  /** A file or folder inside an npm package. */
  | {
    readonly kind: "npm";
    readonly name: string;
    readonly version: string;
    readonly path: string;
  }
  /** A file on the web. */
  | { readonly kind: "url"; readonly url: URL };

const FORMS = "expected a file, a folder, npm:package@version/path or an https URL";

// Names as npm allows them; a version, a range or a tag.
const PACKAGE = /^((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)@([\w.^~+-]+)\/(.+)$/;

/**
 * Tells what a source is. Nothing is looked up.
 *
 * @throws {SluiceError} `invalid_argument` when it is none that is understood.
 */
export function parseSource(text: string): Source {
  if (text.startsWith("npm:")) return parsePackage(text);
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1].toLowerCase();
  if (scheme === "http" || scheme === "https") return parseUrl(text);
  if (scheme === "file") return { kind: "path", path: parseFileUrl(text) };
  if (scheme !== undefined) throw refused(text, `"${scheme}:" is not understood; ${FORMS}`);
  if (text === "" || text.includes("\0")) throw refused(text, FORMS);
  return { kind: "path", path: text };
}

function parsePackage(text: string): Source {
  const [, name, version, path] = PACKAGE.exec(text.slice("npm:".length)) ?? [];
  if (name === undefined) {
    throw refused(text, "expected npm:package@version/path, for example npm:a@1.0.0/model.onnx");
  }
  return { kind: "npm", name, version, path: containedPath(path, "The path in the package") };
}

function parseUrl(text: string): Source {
  const url = URL.parse(text);
  if (url === null) throw refused(text, "it is no URL");
  checkScheme(url);
  return { kind: "url", url };
}

/**
 * Checks that what is fetched from a URL cannot be changed on its way.
 *
 * @throws {SluiceError} `invalid_argument` for plain http to another machine.
 */
export function checkScheme(url: URL): void {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLocal)) return;
  throw refused(withoutSecrets(url.href), "expected https; http is for this machine alone");
}

/** A source fit to be shown and kept: URLs without user, password and query, which may be secrets. */
export function withoutSecrets(source: string): string {
  const url = /^https?:/i.test(source) ? URL.parse(source) : null;
  return url === null ? source : url.origin + url.pathname;
}

function parseFileUrl(text: string): string {
  try {
    return fileURLToPath(text);
  } catch (error) {
    throw refused(text, messageOf(error));
  }
}

function refused(text: string, why: string): SluiceError {
  return new SluiceError("invalid_argument", `Source ${JSON.stringify(text)}: ${why}`);
}
