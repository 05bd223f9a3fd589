/**
 * The gateway's version, as `deno.json` has it.
 *
 * @module
 */
import project from "../deno.json" with { type: "json" };

/** What the server's metadata, the OpenAPI description and `--version` give. */
export const VERSION: string = project.version;
