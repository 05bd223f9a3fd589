/**
 * What is wrong with a library's file that the system's loader does not tell: it maps what the
 * header promises, so that a file which was cut off ends the process, and a file for another
 * processor it calls missing.
 *
 * @module
 */

const HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
const ELF_MAGIC = 0x464c457f;
const LOADED = 1; // PT_LOAD

/** `e_machine`. */
const MACHINES: Readonly<Record<typeof Deno.build.arch, number>> = { x86_64: 62, aarch64: 183 };

/** A fault of the file, in words; undefined where there is none, or where it may not be read. */
export function libraryFileFault(path: string): string | undefined {
  if (!path.includes("/")) return undefined; // the loader looks for it, in folders of its own
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return undefined;
  try {
    using file = Deno.openSync(path);
    return faultOf(file);
  } catch {
    return undefined; // the loader says the same
  }
}

function faultOf(file: Deno.FsFile): string | undefined {
  const header = read(file, HEADER_BYTES);
  if (header.byteLength < HEADER_BYTES || header.getUint32(0, true) !== ELF_MAGIC) return undefined;
  if (header.getUint16(0x12, true) !== MACHINES[Deno.build.arch]) {
    return "it was made for another processor";
  }
  file.seekSync(header.getBigUint64(0x20, true), Deno.SeekMode.Start);
  const segments = read(file, header.getUint16(0x38, true) * SEGMENT_BYTES);
  let end = 0n;
  for (let at = 0; at + SEGMENT_BYTES <= segments.byteLength; at += SEGMENT_BYTES) {
    if (segments.getUint32(at, true) !== LOADED) continue;
    const last = segments.getBigUint64(at + 8, true) + segments.getBigUint64(at + 32, true);
    if (last > end) end = last;
  }
  const { size } = file.statSync();
  return end > BigInt(size) ? `it is cut off: of ${end} bytes there are ${size}` : undefined;
}

function read(file: Deno.FsFile, bytes: number): DataView {
  const buffer = new Uint8Array(bytes);
  return new DataView(buffer.buffer, 0, file.readSync(buffer) ?? 0);
}
