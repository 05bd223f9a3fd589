/**
 * Sizes in bytes as people write and read them: `512MiB`, `2GB`, `1048576`.
 *
 * @module
 */

const UNIT_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** What a size looks like; the first group is the number, the second its unit. */
export const SIZE_PATTERN = /^(\d+(?:\.\d+)?) ?([kKmMgGtT]?[iI]?[bB])?$/;

/** Whole bytes of `text`; undefined when it is no size. Units of 1000 are `KB`, of 1024 `KiB`. */
export function parseBytes(text: string): number | undefined {
  const [, count, unit = "b"] = SIZE_PATTERN.exec(text) ?? [];
  const bytes = Math.round(Number(count) * UNIT_BYTES[unit.toLowerCase()]);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** `bytes` to three digits in units of 1024, e.g. `4.69 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1023.5 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  const digits = unit === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return `${bytes.toFixed(digits)} ${units[unit]}`;
}
