/**
 * Reads protobuf messages, from text format or from their JSON form, into plain objects: names are
 * the proto's own (snake_case), enums their names, integers numbers.
 *
 * @see https://protobuf.dev/programming-guides/json/
 * @module
 */
import {
  defaultOf,
  type Fields,
  type FieldSchema,
  type FieldType,
  type MessageOf,
  type Scalar,
} from "./schema.ts";
import type { TextField, TextValue } from "./text_format.ts";

/** A message does not fit its schema. */
export class SchemaError extends Error {
  /** The error's name. */
  override readonly name = "SchemaError";
  /** Made while reading. */
  constructor(
    /** What is wrong, with the field's path. */
    fault: string,
    /** Offset in the text; -1 in JSON. */
    readonly at: number,
  ) {
    super(fault);
  }
}

/** A message, and what of it was set without having an effect. */
export interface Reading<F extends Fields> {
  /** The message; only what was set. */
  readonly message: MessageOf<F>;
  /** Paths like `optimization` or `input.format`, each once, in order of appearance. */
  readonly noted: readonly string[];
}

/** The two forms differ in how they write maps, enums and 64-bit integers. */
export type Form = "text" | "json";

/**
 * Reads a message.
 *
 * @throws {SchemaError} A field is unknown, set twice, excluded by another or of another type.
 */
export function readMessage<F extends Fields>(
  schema: F,
  fields: readonly TextField[],
  form: Form,
): Reading<F> {
  const reader = new MessageReader(form);
  const message = reader.message(schema, fields, "", false) as MessageOf<F>;
  return { message, noted: [...reader.noted] };
}

/** The fields of a JSON object, as if they had been written in text format. */
export function fieldsOfJson(value: Readonly<Record<string, unknown>>): TextField[] {
  const fields: TextField[] = [];
  for (const [name, content] of Object.entries(value)) {
    for (const element of Array.isArray(content) ? content : [content]) {
      if (element !== null) fields.push({ name, value: valueOfJson(element, name), at: -1 });
    }
  }
  return fields;
}

function valueOfJson(value: unknown, name: string): TextValue {
  if (typeof value === "string") return { kind: "string", text: value };
  if (typeof value === "number") return { kind: "number", text: String(value) };
  if (typeof value === "boolean") return { kind: "identifier", text: String(value) };
  if (Array.isArray(value)) throw new SchemaError(`"${name}" has a list in its list`, -1);
  return { kind: "message", fields: fieldsOfJson(value as Record<string, unknown>) };
}

class MessageReader {
  readonly noted = new Set<string>();
  readonly #form: Form;

  constructor(form: Form) {
    this.#form = form;
  }

  message(
    schema: Fields,
    fields: readonly TextField[],
    path: string,
    isNoted: boolean,
  ): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const chosen = new Map<string, string>();
    for (const written of fields) {
      const name = this.#nameIn(schema, written, path);
      const field = schema[name];
      const where = path === "" ? name : `${path}.${name}`;
      if (field.cardinality === "one" && Object.hasOwn(result, name)) {
        throw new SchemaError(`"${where}" is set more than once`, written.at);
      }
      if (field.oneof !== undefined) {
        const other = chosen.get(field.oneof) ?? name;
        if (other !== name) {
          throw new SchemaError(
            `"${where}" and "${other}" exclude one another; set one of them`,
            written.at,
          );
        }
        chosen.set(field.oneof, name);
      }
      const noted = isNoted || field.noted === true;
      if (field.cardinality === "map") {
        result[name] ??= {};
        this.#addEntries(result[name] as Record<string, unknown>, field, written, where, noted);
      } else {
        const value = this.#value(field.type, written, where, noted);
        if (field.cardinality === "list") ((result[name] ??= []) as unknown[]).push(value);
        else result[name] = value;
      }
      if (noted && !isNoted && !isDefault(field, result[name])) this.noted.add(where);
    }
    return result;
  }

  #nameIn(schema: Fields, { name, at }: TextField, path: string): string {
    if (Object.hasOwn(schema, name)) return name;
    // The JSON form may write names in camelCase.
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (this.#form === "json" && Object.hasOwn(schema, snake)) return snake;
    throw new SchemaError(
      path === "" ? `"${name}" is no known field` : `"${path}" has no field "${name}"`,
      at,
    );
  }

  #addEntries(
    into: Record<string, unknown>,
    field: FieldSchema,
    written: TextField,
    path: string,
    noted: boolean,
  ): void {
    if (written.value.kind !== "message") throw mismatch(path, "a map", written);
    const entries = this.#form === "json" ? written.value.fields : [textEntry(written, path)];
    for (const entry of entries) {
      const value = this.#value(field.type, entry, `${path}.${entry.name}`, noted);
      Object.defineProperty(into, entry.name, { value, enumerable: true, configurable: true });
    }
  }

  #value(type: FieldType, written: TextField, path: string, noted: boolean): unknown {
    const { value } = written;
    if (type.kind === "message") {
      if (value.kind !== "message") throw mismatch(path, "a message", written);
      return this.message(type.fields, value.fields, path, noted);
    }
    if (value.kind === "message") {
      throw mismatch(
        path,
        type.kind === "enum" ? "a name" : SCALARS[type.scalar].expected,
        written,
      );
    }
    if (type.kind === "enum") return this.#enumValue(type.values, written, value, path);
    const read = SCALARS[type.scalar].read(value, this.#form);
    if (read === undefined) throw mismatch(path, SCALARS[type.scalar].expected, written);
    return read;
  }

  #enumValue(
    values: readonly string[],
    written: TextField,
    { kind, text }: Exclude<TextValue, { kind: "message" }>,
    path: string,
  ): string {
    const isName = kind === "identifier" || (kind === "string" && this.#form === "json");
    if (isName && values.includes(text)) return text;
    const byNumber = kind === "number" ? values[Number(text)] : undefined;
    if (byNumber !== undefined) return byNumber;
    throw mismatch(path, `one of ${values.join(", ")}`, written);
  }
}

/** Text format writes an entry of a map as a message with the fields `key` and `value`. */
function textEntry(written: TextField, path: string): TextField {
  const fields = written.value.kind === "message" ? written.value.fields : [];
  let key = "", value: TextValue = { kind: "message", fields: [] };
  for (const field of fields) {
    if (field.name === "key" && field.value.kind !== "message") key = field.value.text;
    else if (field.name === "value") value = field.value;
    else {throw new SchemaError(
        `"${path}" has no field "${field.name}"; its entries are key and value`,
        field.at,
      );}
  }
  return { name: key, value, at: written.at };
}

type ScalarText = Exclude<TextValue, { kind: "message" }>;

interface ScalarReader {
  readonly expected: string;
  read(value: ScalarText, form: Form): unknown;
}

function integer(min: bigint, max: bigint): ScalarReader {
  const safe = BigInt(Number.MAX_SAFE_INTEGER);
  const [low, high] = [min < -safe ? -safe : min, max > safe ? safe : max];
  return {
    expected: `an integer from ${low} to ${high}`,
    read(value, form) {
      const exact = integerOf(value, form);
      return exact === undefined || exact < low || exact > high ? undefined : Number(exact);
    },
  };
}

function integerOf({ kind, text }: ScalarText, form: Form): bigint | undefined {
  const isNumber = kind === "number" || (kind === "string" && form === "json");
  const [, sign, digits] = /^(-?)(0[xX][0-9a-fA-F]+|[0-9]+)$/.exec(text) ?? [];
  if (!isNumber || digits === undefined) return undefined;
  const isOctal = form === "text" && /^0[0-7]+$/.test(digits);
  const value = BigInt(isOctal ? `0o${digits}` : digits);
  return sign === "-" ? -value : value;
}

const REAL: ScalarReader = {
  expected: "a number",
  read({ kind, text }, form) {
    if (kind === "number") return Number(text.replace(/^(-?[0-9.eE+-]+)[fF]$/, "$1"));
    if (kind === "string" && form === "text") return undefined;
    const [, sign, word] = /^(-?)(inf|infinity|nan)$/i.exec(text) ?? [];
    if (word === undefined) return undefined;
    return word.toLowerCase() === "nan" ? NaN : sign === "-" ? -Infinity : Infinity;
  },
};

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  t: true,
  "1": true,
  false: false,
  False: false,
  f: false,
  "0": false,
};

const SCALARS: Readonly<Record<Scalar, ScalarReader>> = {
  string: {
    expected: "a string in quotes",
    read: ({ kind, text }) => kind === "string" ? text : undefined,
  },
  bool: {
    expected: "true or false",
    read({ kind, text }, form) {
      if (kind === "string" || (form === "json" && kind === "number")) return undefined;
      return Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;
    },
  },
  int32: integer(-(2n ** 31n), 2n ** 31n - 1n),
  uint32: integer(0n, 2n ** 32n - 1n),
  int64: integer(-(2n ** 63n), 2n ** 63n - 1n),
  uint64: integer(0n, 2n ** 64n - 1n),
  float: REAL,
  double: REAL,
};

function isDefault(field: FieldSchema, value: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(defaultOf(field));
}

function mismatch(path: string, expected: string, { value, at }: TextField): SchemaError {
  const given = value.kind === "message"
    ? "a message"
    : value.kind === "string"
    ? JSON.stringify(value.text)
    : value.text;
  return new SchemaError(`"${path}" is ${given}; expected ${expected}`, at);
}
