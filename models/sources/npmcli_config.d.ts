/** The part of npm's own configuration reader that is used: https://github.com/npm/cli */

/** What npm's configuration consists of. */
export interface Definitions {
  readonly definitions: unknown;
  readonly shorthands: unknown;
  readonly flatten: unknown;
  readonly nerfDarts: readonly string[];
}

/** npm's configuration: defaults, `.npmrc` files, environment. */
export default class Config {
  constructor(
    options: Definitions & {
      readonly npmPath: string;
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly warn: boolean;
    },
  );
  load(): Promise<void>;
  /** Options as npm's libraries take them. */
  readonly flat: Readonly<Record<string, unknown>>;
}
