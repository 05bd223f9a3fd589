/**
 * Walks protobuf messages with bounds checked. `pbf` itself trusts its input: a length that points
 * past the end is cut off silently, and a field of another wire type is misread.
 *
 * @module
 */
import { PbfReader } from "pbf";
import { SluiceError } from "../errors.ts";

const VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2, FIXED32 = 5;

/** The bytes are no message of the kind expected; says where and why. */
export class MalformedMessage extends Error {
  /** The error's name. */
  override readonly name = "MalformedMessage";
}

/** One field of a message, not yet read. What is not read is skipped. */
export class Field {
  readonly #reader: PbfReader;
  readonly #message: string;

  /** Made by {@linkcode eachField}. */
  constructor(reader: PbfReader, message: string) {
    this.#reader = reader;
    this.#message = message;
  }

  /** Whether it is read with {@linkcode bytes} or {@linkcode text}: lists of numbers may be either. */
  get isLengthDelimited(): boolean {
    return this.#reader.type === LENGTH_DELIMITED;
  }

  /** A view of a length-delimited field: nothing is copied. */
  bytes(): Uint8Array {
    this.#expect(LENGTH_DELIMITED, "length-delimited");
    const length = this.#reader.readVarint();
    const end = this.#reader.pos + length;
    if (end > this.#reader.length) {
      throw new MalformedMessage(
        `${this.#message} announces ${length} bytes at offset ${this.#reader.pos} and has ` +
          `${this.#reader.length - this.#reader.pos}`,
      );
    }
    const view = this.#reader.buf.subarray(this.#reader.pos, end);
    this.#reader.pos = end;
    return view;
  }

  /** A string; what is not UTF-8 in it becomes U+FFFD. */
  text(): string {
    return new TextDecoder().decode(this.bytes());
  }

  /** A signed integer; exact up to 2^53. */
  integer(): number {
    this.#expect(VARINT, "an integer");
    return this.#reader.readVarint(true);
  }

  /** A number of single precision. */
  float(): number {
    this.#expect(FIXED32, "a float");
    return this.#reader.readFloat();
  }

  #expect(wireType: number, what: string): void {
    if (this.#reader.type !== wireType) {
      throw new MalformedMessage(
        `${this.#message} has wire type ${this.#reader.type} where ${what} was expected`,
      );
    }
  }
}

/**
 * Calls `visit` for every field of a message, in the order they are written.
 *
 * @param message The message's name, for errors.
 * @param visit `offset` is where the field begins, its tag included.
 * @throws {MalformedMessage} Truncated, or no protobuf message at all.
 */
export function eachField(
  bytes: Uint8Array,
  message: string,
  visit: (number: number, field: Field, offset: number) => void,
): void {
  const reader = new PbfReader(bytes);
  const field = new Field(reader, message);
  try {
    for (;;) {
      const offset = reader.pos;
      const number = reader.nextField();
      if (number === 0) break;
      if (![VARINT, FIXED64, LENGTH_DELIMITED, FIXED32].includes(reader.type)) {
        throw new MalformedMessage(`${message} has a field of unknown wire type ${reader.type}`);
      }
      const content = reader.pos;
      visit(number, field, offset);
      if (reader.pos === content) reader.skip(reader.type);
    }
  } catch (error) {
    if (error instanceof MalformedMessage || error instanceof SluiceError) throw error;
    throw new MalformedMessage(`${message} breaks off`, { cause: error });
  }
  if (reader.pos > reader.length) throw new MalformedMessage(`${message} breaks off`);
  if (reader.pos < reader.length) throw new MalformedMessage(`${message} has a field numbered 0`);
}
