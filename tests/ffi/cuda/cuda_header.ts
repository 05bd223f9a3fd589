/**
 * NVIDIA's cuda.h, read far enough to compare the table of symbols with it.
 *
 * @module
 */

/** A function as the library exports it. */
export interface Prototype {
  /** C types in order. */
  readonly parameters: readonly string[];
  /** Their names. */
  readonly names: readonly string[];
}

/** What cuda.h declares. */
export interface CudaHeader {
  /** Functions that return a `CUresult`, by exported name. */
  readonly functions: ReadonlyMap<string, Prototype>;
  /** Enumerators and plain macros by name. */
  readonly constants: ReadonlyMap<string, bigint>;
  /** The rows' types that stand for a C type. */
  foreignTypes(type: string): readonly string[];
}

/** Reads the text of cuda.h. */
export function readCudaHeader(text: string): CudaHeader {
  const source = text.replace(/\/\*[^]*?\*\//g, " ").replace(/\/\/.*/g, "")
    .replace(/\\\r?\n/g, " ");
  const typedefs = readTypedefs(source);
  return {
    functions: readFunctions(source),
    constants: readConstants(source),
    foreignTypes: (type) => foreignTypes(type, typedefs),
  };
}

/**
 * The header declares the newest form of a function under its plain name, which a macro turns into
 * the exported one, and at its end the older forms by the names that they are exported by.
 */
function readFunctions(source: string): Map<string, Prototype> {
  const older = source.indexOf("CUDA_API_VERSION_INTERNAL)", source.indexOf("cuGetExportTable"));
  const exported = new Map(
    Array.from(
      source.slice(0, older).matchAll(
        /^\s*#\s*define\s+(cu[A-Z]\w*)\s+(?:__CUDA_API_PT[DS][SZ]\()?(cu\w+)/gm,
      ),
      ([, name, version]) => [name, version],
    ),
  );
  const functions = new Map<string, Prototype>();
  for (const match of source.matchAll(/\bCUresult\s+CUDAAPI\s+(cu\w+)\s*\(([^;]*)\)\s*;/g)) {
    const name = match.index < older ? exported.get(match[1]) ?? match[1] : match[1];
    if (!functions.has(name)) functions.set(name, readParameters(match[2]));
  }
  return functions;
}

/** Reads what stands between the parentheses of a prototype. */
export function readParameters(text: string): Prototype {
  const parameters: string[] = [], names: string[] = [];
  const inner = text.trim();
  for (const parameter of inner === "" || inner === "void" ? [] : inner.split(",")) {
    const [, type, name] = parameter.trim().match(/^(.*?[\s*])(\w+)$/s)!;
    parameters.push(canonical(type));
    names.push(name);
  }
  return { parameters, names };
}

/** One space between words, none before an asterisk. */
function canonical(type: string): string {
  return type.replace(/\s+/g, " ").replace(/ ?\*/g, "*").trim();
}

function readTypedefs(source: string): Map<string, string> {
  const typedefs = new Map<string, string>();
  // The first definition of a name is the one for 64-bit systems.
  const add = (name: string, type: string) => typedefs.has(name) || typedefs.set(name, type);
  for (const [, name] of source.matchAll(/\btypedef\s+enum\s+\w*\s*\{[^}]*\}\s*(\w+)\s*;/g)) {
    add(name, "int");
  }
  for (const [, name] of source.matchAll(/\btypedef\s+\w+\s*\(\s*CUDA_CB\s*\*\s*(\w+)\s*\)/g)) {
    add(name, "function");
  }
  for (const [, name] of source.matchAll(/\btypedef\s+size_t\s*\(\s*CUDA_CB\s*\*\s*(\w+)\s*\)/g)) {
    add(name, "function");
  }
  for (const [, name] of source.matchAll(/\btypedef\s+struct\s+\w+\s*\*\s*(\w+)\s*;/g)) {
    add(name, "handle");
  }
  for (const [, type, name] of source.matchAll(/\btypedef\s+([\w\s]+?)\s+(\w+)\s*;/g)) {
    add(name, canonical(type));
  }
  return typedefs;
}

const FOREIGN_TYPES: Readonly<Record<string, readonly string[]>> = {
  "int": ["i32"],
  "unsigned int": ["u32"],
  "unsigned char": ["u8"],
  "unsigned short": ["u16"],
  "float": ["f32"],
  "size_t": ["usize", "u64"],
  "unsigned long long": ["u64"],
  "unsigned __int64": ["u64"],
  "function": ["function", "pointer"],
  "handle": ["u64"],
};

function foreignTypes(type: string, typedefs: ReadonlyMap<string, string>): readonly string[] {
  // A host address that the driver keeps is a number here.
  if (type.endsWith("*")) {
    return type === "void*" ? ["buffer", "pointer", "u64"] : ["buffer", "pointer"];
  }
  const plain = type.replace(/^const /, "");
  const known = FOREIGN_TYPES[plain];
  if (known !== undefined) return known;
  const defined = typedefs.get(plain);
  if (defined === undefined) throw new TypeError(`cuda.h: unknown type ${type}`);
  return foreignTypes(defined, typedefs);
}

/** Those whose value is a literal, possibly shifted, or follows from the one before. */
function readConstants(source: string): Map<string, bigint> {
  const constants = new Map<string, bigint>();
  for (const [, body] of source.matchAll(/\benum\s+\w*\s*\{([^}]*)\}/g)) {
    let value: bigint | undefined = 0n;
    for (const [, name, expression] of body.matchAll(/(\w+)\s*(?:=\s*([^,]+))?(?:,|$)/g)) {
      if (expression !== undefined) value = literal(expression);
      if (value !== undefined) constants.set(name, value++);
    }
  }
  for (const [, name, text] of source.matchAll(/^\s*#\s*define\s+(CU\w+)\s+([^\n]+)$/gm)) {
    const value = literal(text.replace(/\(CU\w+\)/, ""));
    if (value !== undefined) constants.set(name, value);
  }
  return constants;
}

function literal(expression: string): bigint | undefined {
  const plain = expression.replace(/[()\s]/g, "");
  const match = plain.match(/^(-?)(0x[\da-f]+|\d+)[uUlL]*(?:<<(\d+))?$/i);
  if (match === null) return undefined;
  const [, sign, digits, shift] = match;
  return (sign ? -BigInt(digits) : BigInt(digits)) << BigInt(shift ?? 0);
}
