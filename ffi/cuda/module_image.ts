/**
 * What a module is loaded from. The driver is given no length: it trusts a binary's header, and
 * reads text up to a NUL. So both are checked here.
 *
 * @module
 */

import { CudaError } from "./errors.ts";

const INVALID_IMAGE = 200; // CUDA_ERROR_INVALID_IMAGE

const FATBIN_MAGIC = 0xba55ed50;
const FATBIN_HEADER_BYTES = 16;
const ELF_MAGIC = 0x464c457f;
const ELF_HEADER_BYTES = 64;

/** An image that the driver may read. */
export interface ModuleImage {
  /** PTX is compiled during the load, which takes long; the others hold machine code. */
  readonly kind: "ptx" | "cubin" | "fatbin";
  /** Ends in a NUL when it is PTX. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Tells what an image is and that it is whole.
 *
 * @param source PTX as text or bytes, a cubin or a fatbin.
 * @throws {CudaError} When a binary is shorter than its header says.
 */
export function moduleImage(source: string | Uint8Array<ArrayBuffer>): ModuleImage {
  if (typeof source === "string") return text(new TextEncoder().encode(source));
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const magic = source.length < 4 ? 0 : view.getUint32(0, true);
  if (magic !== FATBIN_MAGIC && magic !== ELF_MAGIC) return text(source);
  const kind = magic === FATBIN_MAGIC ? "fatbin" : "cubin";
  const length = magic === FATBIN_MAGIC ? fatbinLength(view) : elfLength(view);
  if (length > BigInt(source.length)) {
    throw new CudaError(
      "cuModuleLoadDataEx",
      INVALID_IMAGE,
      `the ${kind} is cut off: its header speaks of ${length} bytes, there are ${source.length}`,
      { name: "CUDA_ERROR_INVALID_IMAGE" },
    );
  }
  return { kind, bytes: source };
}

function text(bytes: Uint8Array<ArrayBuffer>): ModuleImage {
  const end = bytes.indexOf(0);
  const terminated = new Uint8Array(new ArrayBuffer((end < 0 ? bytes.length : end) + 1));
  terminated.set(bytes.subarray(0, terminated.length - 1));
  return { kind: "ptx", bytes: terminated };
}

/** `{ u32 magic; u16 version; u16 headerBytes; u64 contentBytes; }` and the content. */
function fatbinLength(view: DataView): bigint {
  if (view.byteLength < FATBIN_HEADER_BYTES) return BigInt(FATBIN_HEADER_BYTES);
  return BigInt(view.getUint16(6, true)) + view.getBigUint64(8, true);
}

/** Everything lies before the end of the table of sections or the table of segments. */
function elfLength(view: DataView): bigint {
  if (view.byteLength < ELF_HEADER_BYTES) return BigInt(ELF_HEADER_BYTES);
  const end = (offset: number, size: number, count: number) =>
    view.getBigUint64(offset, true) +
    BigInt(view.getUint16(size, true)) * BigInt(view.getUint16(count, true));
  const segments = end(0x20, 0x36, 0x38);
  const sections = end(0x28, 0x3a, 0x3c);
  return segments > sections ? segments : sections;
}
