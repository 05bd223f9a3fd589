/** What npm's configuration consists of. */
import type { Definitions } from "./npmcli_config.d.ts";

declare const definitions: Definitions;
export default definitions;
