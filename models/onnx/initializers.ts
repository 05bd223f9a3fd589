/**
 * The values of a graph's initialisers, read and replaced: what a sequence starts from, and what a
 * checkpoint keeps.
 *
 * @module
 */
import { PbfWriter } from "pbf";
import { SluiceError } from "../errors.ts";
import { byteLength, type Datatype, type Tensor } from "../tensor.ts";
import { refusal } from "./decode.ts";
import { datatypeOf, elementTypeName } from "./element_types.ts";
import { eachField } from "./fields.ts";
import {
  concatenated,
  RAW_DATA,
  readTensor,
  readTensorHeader,
  type TensorHeader,
  totalLength,
  VALUE_FIELDS,
} from "./tensor_proto.ts";

/** Numbers of the fields on the way from a model to the tensor of an initialiser. */
const GRAPH = 7, INITIALIZER = 5, SPARSE_INITIALIZER = 15;

/**
 * Reads the values of some initialisers of the main graph.
 *
 * @param bytes The whole file.
 * @param names Those that are wanted; what the graph does not have is missing in the result.
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument` when the file cannot be read; `unsupported` when a wanted
 *   initialiser is sparse, lies in another file, or has values that are no numbers.
 */
export function readInitializers(
  bytes: Uint8Array,
  names: ReadonlySet<string>,
  fileName: string,
): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  const readDense = (content: Uint8Array) => {
    const header = readTensorHeader(content);
    if (!names.has(header.name)) return;
    tensors.set(header.name, readTensor(content, header, datatypeIn(header, fileName)));
  };
  const refuseSparse = (content: Uint8Array) => {
    const name = sparseName(content);
    if (names.has(name)) throw unsupported(fileName, name, "is sparse");
  };
  refusing(bytes, fileName, () =>
    eachField(bytes, "The model", (number, field) => {
      if (number !== GRAPH) return;
      eachField(field.bytes(), "The graph", (number, field) => {
        if (number === INITIALIZER) readDense(field.bytes());
        else if (number === SPARSE_INITIALIZER) refuseSparse(field.bytes());
      });
    }));
  return tensors;
}

/**
 * A copy of a file in which initialisers of the main graph have other values. All else stays as it is.
 *
 * @param bytes The whole file.
 * @param tensors Of the datatypes and shapes that the initialisers of these names have.
 * @param fileName How errors call the file.
 * @throws {SluiceError} As {@linkcode readInitializers}; `invalid_argument` also for a tensor that
 *   has no initialiser of its name, datatype and shape.
 */
export function replaceInitializers(
  bytes: Uint8Array,
  tensors: readonly Tensor[],
  fileName: string,
): Uint8Array<ArrayBuffer> {
  const wanted = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const missing = new Set(wanted.keys());
  const replaced = (content: Uint8Array) => {
    const header = readTensorHeader(content);
    const tensor = wanted.get(header.name);
    if (tensor === undefined) return undefined;
    checkFits(tensor, header, fileName);
    missing.delete(header.name);
    return withValues(content, tensor.data);
  };
  const chunks = refusing(
    bytes,
    fileName,
    () =>
      rewritten(
        bytes,
        "The model",
        GRAPH,
        (graph) => rewritten(graph, "The graph", INITIALIZER, replaced),
      ),
  );
  if (missing.size > 0) {
    const names = Array.from(missing, (name) => `"${name}"`).join(", ");
    throw new SluiceError("invalid_argument", `${fileName} has no initialiser ${names} to replace`);
  }
  return concatenated(chunks);
}

/** The message of a file in pieces, most of them views of the file. */
type Chunks = readonly Uint8Array[];

/** A message in which the fields of one number have other content, where `replace` gives any. */
function rewritten(
  bytes: Uint8Array,
  message: string,
  number: number,
  replace: (content: Uint8Array) => Chunks | undefined,
): Chunks {
  const chunks: Uint8Array[] = [];
  let copied = 0;
  eachField(bytes, message, (each, field, offset) => {
    if (each !== number) return;
    const content = field.bytes();
    const replacement = replace(content);
    if (replacement === undefined) return;
    chunks.push(bytes.subarray(copied, offset), ...lengthDelimited(number, replacement));
    copied = content.byteOffset - bytes.byteOffset + content.length;
  });
  return [...chunks, bytes.subarray(copied)];
}

function withValues(content: Uint8Array, data: Uint8Array): Chunks {
  const fields: { readonly number: number; readonly offset: number }[] = [];
  eachField(content, "A tensor", (number, _field, offset) => fields.push({ number, offset }));
  const kept = fields.flatMap(({ number, offset }, i) =>
    VALUE_FIELDS.has(number) ? [] : [content.subarray(offset, fields[i + 1]?.offset)]
  );
  return [...kept, ...lengthDelimited(RAW_DATA, [data])];
}

function lengthDelimited(number: number, content: Chunks): Chunks {
  const writer = new PbfWriter();
  writer.writeTag(number, 2);
  writer.writeVarint(totalLength(content));
  return [writer.finish(), ...content];
}

function checkFits({ name, datatype, shape, data }: Tensor, header: TensorHeader, where: string) {
  const own = datatypeIn(header, where);
  const isSame = datatype === own && String(shape) === String(header.shape);
  if (isSame && data.length === byteLength(own, shape)) return;
  throw new SluiceError(
    "invalid_argument",
    `${where}: initialiser "${name}" is ${own} of shape [${header.shape}]; given are ` +
      `${data.length} bytes of ${datatype} of shape [${shape}]`,
  );
}

/** The datatype of an initialiser whose values can be read. */
function datatypeIn(header: TensorHeader, fileName: string): Exclude<Datatype, "BYTES"> {
  const { name, elementType, external } = header;
  if (external !== undefined) throw unsupported(fileName, name, "keeps its values in another file");
  const datatype = datatypeOf(elementType);
  if (datatype !== undefined && datatype !== "BYTES") return datatype;
  throw unsupported(fileName, name, `is of ${elementTypeName(elementType)}`);
}

/** A sparse tensor has the name of its values. */
function sparseName(bytes: Uint8Array): string {
  let name = "";
  eachField(bytes, "A sparse tensor", (number, field) => {
    if (number === 1) name = readTensorHeader(field.bytes()).name;
  });
  return name;
}

function unsupported(fileName: string, name: string, fault: string): SluiceError {
  return new SluiceError(
    "unsupported",
    `${fileName}: initialiser "${name}" ${fault}; expected numbers that the file itself has`,
  );
}

function refusing<T>(bytes: Uint8Array, fileName: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusal(error, bytes, fileName);
  }
}
