/**
 * Reads an ONNX file without its weights: the values of the graph's initializers, which are nearly
 * all of a large file, are passed over on disk.
 *
 * @module
 */
import { PbfReader, PbfWriter } from "pbf";
import { MalformedMessage } from "./fields.ts";

/** What to do with the length-delimited fields of a message. What is in neither is kept. */
interface Level {
  readonly message: string;
  readonly enter: Readonly<Record<number, Level>>;
  readonly drop: readonly number[];
}

/** TensorProto: float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data. */
const TENSOR: Level = { message: "A tensor", enter: {}, drop: [4, 5, 6, 7, 9, 10, 11] };
const GRAPH: Level = { message: "The graph", enter: { 5: TENSOR }, drop: [] };
const MODEL: Level = { message: "The model", enter: { 7: GRAPH }, drop: [] };

const LONGEST_VARINT = 10;
const WINDOW_BYTES = 64 * 1024;

/**
 * The file's bytes as a valid ONNX file in which initializers have no values.
 *
 * @throws {MalformedMessage} Truncated, or no protobuf message at all.
 */
export async function readSkeleton(file: Deno.FsFile): Promise<Uint8Array> {
  const { size } = await file.stat();
  return await new Stripping(file, size).message(MODEL, 0, size);
}

class Stripping {
  readonly #file: Deno.FsFile;
  readonly #size: number;
  /** What was read last, from `#start` on. */
  #window = new Uint8Array(0);
  #start = 0;

  constructor(file: Deno.FsFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  async message({ message, enter, drop }: Level, at: number, end: number): Promise<Uint8Array> {
    const writer = new PbfWriter();
    while (at < end) {
      const tag = await this.#varint(message, at, end);
      at = tag.end;
      const [number, wireType] = [tag.value >>> 3, tag.value & 7];
      if (wireType === 0) {
        const varint = await this.#varint(message, at, end);
        writer.writeVarintField(number, varint.value);
        at = varint.end;
      } else if (wireType === 1 || wireType === 5) {
        at += wireType === 1 ? 8 : 4;
      } else if (wireType === 2) {
        const length = await this.#varint(message, at, end);
        const next = length.end + length.value;
        if (next > end) {
          throw new MalformedMessage(
            `${message} announces ${length.value} bytes at offset ${length.end} and has ` +
              `${end - length.end}`,
          );
        }
        if (number in enter) {
          writer.writeBytesField(number, await this.message(enter[number], length.end, next));
        } else if (!drop.includes(number)) {
          writer.writeBytesField(number, await this.#bytes(length.end, next));
        }
        at = next;
      } else {
        throw new MalformedMessage(`${message} has a field of unknown wire type ${wireType}`);
      }
    }
    if (at > end) throw new MalformedMessage(`${message} breaks off`);
    return writer.finish();
  }

  async #varint(
    message: string,
    at: number,
    end: number,
  ): Promise<{ readonly value: number; readonly end: number }> {
    const bytes = await this.#bytes(at, Math.min(at + LONGEST_VARINT, end));
    const length = bytes.findIndex((byte) => byte < 0x80) + 1;
    if (length === 0) throw new MalformedMessage(`${message} breaks off`);
    return { value: new PbfReader(bytes).readVarint(true), end: at + length };
  }

  /** A view of the file that is good until the next call. */
  async #bytes(from: number, to: number): Promise<Uint8Array> {
    const windowEnd = this.#start + this.#window.length;
    if (from < this.#start || to > windowEnd) {
      const length = Math.min(Math.max(to - from, WINDOW_BYTES), this.#size - from);
      const window = new Uint8Array(length);
      await this.#file.seek(from, Deno.SeekMode.Start);
      for (let done = 0; done < length;) {
        const read = await this.#file.read(window.subarray(done));
        if (read === null) throw new MalformedMessage("The file got shorter while it was read");
        done += read;
      }
      [this.#window, this.#start] = [window, from];
    }
    return this.#window.subarray(from - this.#start, to - this.#start);
  }
}
