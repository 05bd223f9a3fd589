/** The part of pacote that is used: https://github.com/npm/pacote */

/** What was unpacked. */
export interface Extracted {
  /** `name@version` as asked for. */
  readonly from: string;
  /** URL of the archive. */
  readonly resolved: string;
  /** Subresource integrity of the archive, checked. */
  readonly integrity: string;
}

/** Fetches a package and unpacks it into a folder. */
export function extract(
  spec: string,
  folder: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Extracted>;

declare const pacote: { readonly extract: typeof extract };
export default pacote;
