/**
 * Reads what a server must know of an ONNX file before any runtime loads it. Weights are passed
 * over, not copied.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
 * @module
 */
import { messageOf, SluiceError } from "../errors.ts";
import { eachField, MalformedMessage } from "./fields.ts";
import { readSkeleton } from "./skeleton.ts";
import { readTensorHeader } from "./tensor_proto.ts";

/** What a value of the graph is. Only tensors travel in requests. */
export type ValueKind = "tensor" | "sequence" | "map" | "optional" | "sparse tensor" | "unknown";

/** A graph input or output as declared. */
export interface ValueDeclaration {
  /** Any text: slashes, colons, blanks are all legal. */
  readonly name: string;
  /** Whether it is a tensor at all. */
  readonly kind: ValueKind;
  /** `TensorProto.DataType`; 0 for what is no tensor. */
  readonly elementType: number;
  /** Sizes; a name, or "" where a free dimension has none. Undefined when even the rank is free. */
  readonly dims?: readonly (number | string)[];
}

/** What is known of an ONNX file. */
export interface OnnxFile {
  /** Version of the file format. */
  readonly irVersion: number;
  /** Operator set versions by domain; the default domain is "". */
  readonly opsets: ReadonlyMap<string, number>;
  /** As declared, initialisers among them included. */
  readonly inputs: readonly ValueDeclaration[];
  /** As declared. */
  readonly outputs: readonly ValueDeclaration[];
  /** Names of the graph's own constants. */
  readonly initializers: ReadonlySet<string>;
  /** Paths of external data, relative to the file's folder, as written; nested graphs included. */
  readonly externalData: ReadonlySet<string>;
  /** Operators used, nested graphs and functions included; those of other domains as `domain:op`. */
  readonly operators: ReadonlySet<string>;
}

/** Graphs nest (If, Loop, Scan); real files do not go beyond a few levels. */
const DEEPEST_NESTING = 64;

class Decoding {
  irVersion = 0;
  opsets = new Map<string, number>();
  inputs: ValueDeclaration[] = [];
  outputs: ValueDeclaration[] = [];
  initializers = new Set<string>();
  externalData = new Set<string>();
  operators = new Set<string>();
  graphs = 0;

  model(bytes: Uint8Array): void {
    eachField(bytes, "The model", (number, field) => {
      if (number === 1) this.irVersion = field.integer();
      else if (number === 7) this.mainGraph(field.bytes());
      else if (number === 8) this.operatorSet(field.bytes());
      else if (number === 25) this.function(field.bytes());
    });
  }

  operatorSet(bytes: Uint8Array): void {
    let domain = "", version = 0;
    eachField(bytes, "An operator set", (number, field) => {
      if (number === 1) domain = field.text();
      else if (number === 2) version = field.integer();
    });
    this.opsets.set(domain === "ai.onnx" ? "" : domain, version);
  }

  mainGraph(bytes: Uint8Array): void {
    this.graphs++;
    eachField(bytes, "The graph", (number, field) => {
      if (number === 5) this.initializers.add(this.tensor(field.bytes()));
      else if (number === 11) this.inputs.push(valueDeclaration(field.bytes()));
      else if (number === 12) this.outputs.push(valueDeclaration(field.bytes()));
      else if (number === 15) this.initializers.add(this.sparseTensor(field.bytes()));
      else if (number === 1) this.node(field.bytes(), 0);
    });
  }

  nestedGraph(bytes: Uint8Array, depth: number): void {
    if (depth > DEEPEST_NESTING) {
      throw new MalformedMessage(`Graphs are nested more than ${DEEPEST_NESTING} deep`);
    }
    eachField(bytes, "A nested graph", (number, field) => {
      if (number === 5) this.tensor(field.bytes());
      else if (number === 15) this.sparseTensor(field.bytes());
      else if (number === 1) this.node(field.bytes(), depth);
    });
  }

  function(bytes: Uint8Array): void {
    eachField(bytes, "A function", (number, field) => {
      if (number === 7) this.node(field.bytes(), 0);
    });
  }

  node(bytes: Uint8Array, depth: number): void {
    let operator = "", domain = "";
    eachField(bytes, "A node", (number, field) => {
      if (number === 4) operator = field.text();
      else if (number === 5) this.attribute(field.bytes(), depth);
      else if (number === 7) domain = field.text();
    });
    const standard = domain === "" || domain === "ai.onnx";
    this.operators.add(standard ? operator : `${domain}:${operator}`);
  }

  attribute(bytes: Uint8Array, depth: number): void {
    eachField(bytes, "An attribute", (number, field) => {
      if (number === 5 || number === 10) this.tensor(field.bytes());
      else if (number === 6 || number === 11) this.nestedGraph(field.bytes(), depth + 1);
      else if (number === 22 || number === 23) this.sparseTensor(field.bytes());
    });
  }

  /** Notes where the data lie and gives the tensor's name. */
  tensor(bytes: Uint8Array): string {
    const { name, external } = readTensorHeader(bytes);
    if (external !== undefined) this.externalData.add(external.location);
    return name;
  }

  sparseTensor(bytes: Uint8Array): string {
    let name = "";
    eachField(bytes, "A sparse tensor", (number, field) => {
      if (number === 1) name = this.tensor(field.bytes());
      else if (number === 2) this.tensor(field.bytes());
    });
    return name;
  }
}

const KINDS: Readonly<Record<number, ValueKind>> = {
  1: "tensor",
  4: "sequence",
  5: "map",
  8: "sparse tensor",
  9: "optional",
};

function valueDeclaration(bytes: Uint8Array): ValueDeclaration {
  let name = "", kind: ValueKind = "unknown", elementType = 0;
  let dims: (number | string)[] | undefined;
  eachField(bytes, "A graph input or output", (number, field) => {
    if (number === 1) name = field.text();
    else if (number === 2) {
      eachField(field.bytes(), `The type of "${name}"`, (number, field) => {
        kind = KINDS[number] ?? kind;
        if (number !== 1) return;
        eachField(field.bytes(), `The tensor type of "${name}"`, (number, field) => {
          if (number === 1) elementType = field.integer();
          else if (number === 2) dims = dimensions(field.bytes());
        });
      });
    }
  });
  return { name, kind, elementType, ...(dims === undefined ? {} : { dims }) };
}

function dimensions(bytes: Uint8Array): (number | string)[] {
  const dims: (number | string)[] = [];
  eachField(bytes, "A shape", (number, field) => {
    if (number !== 1) return;
    let dim: number | string = "";
    eachField(field.bytes(), "A dimension", (number, field) => {
      if (number === 1) dim = field.integer();
      else if (number === 2) dim = field.text();
    });
    // Some exporters write an unknown size as -1.
    dims.push(typeof dim === "number" && dim < 0 ? "" : dim);
  });
  return dims;
}

/**
 * Reads an ONNX file that is in memory.
 *
 * @param bytes The whole file.
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument` when it is truncated, text, or no ONNX file.
 */
export function decodeOnnx(bytes: Uint8Array, fileName: string): OnnxFile {
  const decoding = new Decoding();
  try {
    if (bytes.length === 0) throw new MalformedMessage("It is empty");
    decoding.model(bytes);
    if (decoding.irVersion === 0) throw new MalformedMessage("It has no ir_version");
    if (decoding.graphs === 0) throw new MalformedMessage("It has no graph");
  } catch (error) {
    throw refusal(error, bytes, fileName);
  }
  return decoding;
}

/**
 * Reads an ONNX file on disk, without its weights.
 *
 * @param path Where it is.
 * @param fileName How errors call the file.
 * @throws {SluiceError} As {@linkcode decodeOnnx}.
 */
export async function decodeOnnxFile(path: string, fileName: string): Promise<OnnxFile> {
  using file = await open(path, fileName);
  let skeleton: Uint8Array;
  try {
    skeleton = await readSkeleton(file);
  } catch (error) {
    const head = new Uint8Array(HEAD_BYTES);
    await file.seek(0, Deno.SeekMode.Start);
    throw refusal(error, head.subarray(0, await file.read(head) ?? 0), fileName);
  }
  return decodeOnnx(skeleton, fileName);
}

async function open(path: string, fileName: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path);
  } catch (error) {
    const why = messageOf(error);
    throw new SluiceError("invalid_argument", `${fileName} cannot be read: ${why}`, {
      cause: error,
    });
  }
}

/**
 * What is thrown in the place of an error that came up while reading an ONNX file.
 *
 * @param head How the file begins, to tell whether it is text.
 */
export function refusal(error: unknown, head: Uint8Array, fileName: string): unknown {
  if (!(error instanceof MalformedMessage)) return error;
  const fault = looksLikeText(head)
    ? "it is text"
    : error.message.charAt(0).toLowerCase() + error.message.slice(1);
  return new SluiceError(
    "invalid_argument",
    `${fileName} is no ONNX file that can be read: ${fault}`,
    { cause: error },
  );
}

/** How much of a file tells whether it is text. */
const HEAD_BYTES = 512;

function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.length > 0 &&
    bytes.subarray(0, HEAD_BYTES).every((byte) => byte >= 0x20 && byte < 0x7f || isBlank(byte));
}

function isBlank(byte: number): boolean {
  return byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
