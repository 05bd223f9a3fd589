/**
 * Descriptions of protobuf messages: enough to read them, check them and fill in their defaults.
 *
 * @module
 */

/** Scalar types of proto3 that appear in Triton's configuration. */
export type Scalar =
  | "string"
  | "bool"
  | "int32"
  | "uint32"
  | "int64"
  | "uint64"
  | "float"
  | "double";

/** The type of a field's values. */
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | { readonly kind: "enum"; readonly values: readonly string[] }
  | { readonly kind: "message"; readonly fields: Fields };

/** A field of a message. `T` is what it is read into. */
export interface FieldSchema<T = unknown> {
  /** Type of the value, or of each of them. */
  readonly type: FieldType;
  /** One value, a list, or a map from strings. */
  readonly cardinality: "one" | "list" | "map";
  /** Part of the format, but without effect here: worth a warning when it is set. */
  readonly noted?: boolean;
  /** Name of the group of which at most one may be set. */
  readonly oneof?: string;
  /** Carries `T` for the compiler; never set. */
  readonly readAs?: T;
}

/** Fields of a message by name, in the order they are written out. */
export interface Fields {
  /** A field. */
  readonly [name: string]: FieldSchema;
}

/** What a message is read into: what is absent has its default. */
export type MessageOf<F extends Fields> = {
  readonly [K in keyof F]?: F[K] extends FieldSchema<infer T> ? T : never;
};

/** A field of a scalar type. 64-bit integers are read into numbers and must be exact in them. */
export function scalar<S extends Scalar>(
  scalar: S,
): FieldSchema<S extends "string" ? string : S extends "bool" ? boolean : number> {
  return { type: { kind: "scalar", scalar }, cardinality: "one" };
}

/** A field of an enum whose values are numbered from 0; the first is the default. */
export function enumeration<const V extends readonly string[]>(
  ...values: V
): FieldSchema<V[number]> {
  return { type: { kind: "enum", values }, cardinality: "one" };
}

/** A field that holds a message. */
export function message<F extends Fields>(fields: F): FieldSchema<MessageOf<F>> {
  return { type: { kind: "message", fields }, cardinality: "one" };
}

/** The same field, any number of times. */
export function repeated<T>(field: FieldSchema<T>): FieldSchema<readonly T[]> {
  return { type: field.type, cardinality: "list" };
}

/** A map to such values. Its keys are read as strings. */
export function map<T>(field: FieldSchema<T>): FieldSchema<Readonly<Record<string, T>>> {
  return { type: field.type, cardinality: "map" };
}

/** The same field, known but not acted upon. */
export function noted<T>(field: FieldSchema<T>): FieldSchema<T> {
  return { ...field, noted: true };
}

/** The same field as one of a group that excludes one another. */
export function choice<T>(oneof: string, field: FieldSchema<T>): FieldSchema<T> {
  return { ...field, oneof };
}

/** The value that a field has when it is not set; undefined for messages, which are then absent. */
export function defaultOf(field: FieldSchema): unknown {
  if (field.cardinality === "list") return [];
  if (field.cardinality === "map") return {};
  if (field.oneof !== undefined || field.type.kind === "message") return undefined;
  if (field.type.kind === "enum") return field.type.values[0];
  if (field.type.scalar === "string") return "";
  return field.type.scalar === "bool" ? false : 0;
}

/** A message with every field at its default that is not set, in the schema's order. */
export function withDefaults(
  fields: Fields,
  message: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const complete: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = Object.hasOwn(message, name) ? message[name] : defaultOf(field);
    if (value !== undefined) complete[name] = valueWithDefaults(field, value);
  }
  return complete;
}

function valueWithDefaults({ type, cardinality }: FieldSchema, value: unknown): unknown {
  if (type.kind !== "message") return value;
  const one = (value: unknown) => withDefaults(type.fields, value as Record<string, unknown>);
  if (cardinality === "one") return one(value);
  if (cardinality === "list") return (value as unknown[]).map(one);
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).map(([key, value]) => [key, one(value)]),
  );
}
