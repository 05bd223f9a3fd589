import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { SYMBOLS } from "../../../ffi/cuda/symbols.ts";
import { type CudaHeader, readCudaHeader, readParameters } from "./cuda_header.ts";

const FOLDER = fileURLToPath(new URL("../../../ffi/cuda/", import.meta.url));

const header = await openHeader();

async function openHeader(): Promise<CudaHeader | undefined> {
  const home = Deno.env.get("CUDA_HOME");
  if (home === undefined) {
    console.log("CUDA_HOME is not set: the table of symbols is not compared with cuda.h");
    return undefined;
  }
  const path = `${home}/include/cuda.h`;
  try {
    return readCudaHeader(await Deno.readTextFile(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(`${path} does not exist: the table of symbols is not compared with cuda.h`);
    return undefined;
  }
}

function headerTest(name: string, test: (header: CudaHeader) => void | Promise<void>): void {
  Deno.test({ name, ignore: header === undefined, fn: () => test(header!) });
}

const ROWS: Readonly<Record<string, Deno.ForeignFunction>> = SYMBOLS;

headerTest("cuda.h declares every row of the table, optional ones of its age apart", (header) => {
  const unknown = Object.entries(ROWS)
    .filter(([name, { optional }]) => !header.functions.has(name) && !optional)
    .map(([name]) => name);
  assert.deepEqual(unknown, []);
});

headerTest("rows have the types that cuda.h declares", (header) => {
  const wrong: string[] = [];
  for (const [name, row] of Object.entries(ROWS)) {
    const declared = header.functions.get(name);
    if (declared === undefined) continue;
    if (row.result !== "i32" || row.parameters.length !== declared.parameters.length) {
      wrong.push(`${name}: ${row.parameters} -> ${row.result} for (${declared.parameters})`);
      continue;
    }
    row.parameters.forEach((given, index) => {
      const type = declared.parameters[index];
      const expected = header.foreignTypes(type);
      if (typeof given !== "string" || !expected.includes(given)) {
        wrong.push(`${name}: ${declared.names[index]} is ${given}; ${type} is ${expected}`);
      }
    });
  }
  assert.deepEqual(wrong, []);
});

headerTest("prototypes in comments are those of cuda.h", async (header) => {
  const commented = await prototypesInComments();
  const wrong: string[] = [];
  for (const name of Object.keys(ROWS)) {
    const declared = header.functions.get(name);
    if (declared === undefined) continue;
    const comment = commented.get(name);
    if (comment === undefined) wrong.push(`${name}: the row has no comment with its prototype`);
    else assert.deepEqual(readParameters(comment), declared, name);
  }
  assert.deepEqual(wrong, []);
});

headerTest("constants have the values that cuda.h gives them", async (header) => {
  const wrong: string[] = [];
  let checked = 0;
  for (const { file, name, value } of await constantsInComments()) {
    const expected = header.constants.get(name);
    if (expected === undefined && !isNewest(header)) continue; // it came later
    checked++;
    if (expected !== value) wrong.push(`${file}: ${name} is ${expected}, not ${value}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked > 50, `${checked} constants are named by a comment`);
});

/** Whether it is of the version that the comments were written from, or later. */
function isNewest(header: CudaHeader): boolean {
  return header.constants.get("CUDA_VERSION")! >= 13_000n;
}

async function* sources(): AsyncGenerator<{ file: string; text: string }> {
  for (const file of await readdir(FOLDER, { recursive: true })) {
    if (file.endsWith(".ts")) yield { file, text: await Deno.readTextFile(FOLDER + file) };
  }
}

/** What stands between the parentheses of the prototype over each row. */
async function prototypesInComments(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { text } of sources()) {
    for (const [, comment, row] of text.matchAll(/((?:^ *\/\/.*\n)+) *(cu\w+): \{/gm)) {
      const words = comment.replace(/^ *\/\//gm, " ");
      const prototype = words.match(/\bCUresult\s+(\w+)\s*\(([^)]*)\)/);
      if (prototype?.[1] === row) found.set(row, prototype[2]);
    }
  }
  return found;
}

/**
 * Numbers with a comment that says what they are called in C, as in `warpSize: 10, // CU_...`, and
 * lists of text of which the n-th stands for n.
 */
async function constantsInComments() {
  const found: { file: string; name: string; value: bigint }[] = [];
  for await (const { file, text } of sources()) {
    for (const [, value, name] of text.matchAll(/\b([\da-fx_]+)n?[,;] +\/\/ (CU(?:DA)?_\w+)/g)) {
      found.push({ file, name, value: BigInt(value.replaceAll("_", "")) });
    }
    const entries = text.matchAll(/^ +".*", +\/\/ (CU_\w+)/gm);
    Array.from(entries, ([, name], index) => found.push({ file, name, value: BigInt(index) }));
  }
  return found;
}

// A header in miniature, so that the comparison is known to see something.

const MINIATURE = readCudaHeader(`
/* comment with CUresult CUDAAPI cuNothing(int x); */
#define cuMemAlloc   cuMemAlloc_v2
#define cuMemcpyHtoD __CUDA_API_PTDS(cuMemcpyHtoD_v2)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CUDA_VERSION 12040
typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;
typedef struct CUstream_st *CUstream;
typedef enum CUlimit_enum {
  CU_LIMIT_STACK_SIZE = 0x00,   /**< Stack, in bytes */
  CU_LIMIT_PRINTF = 1 << 4,
  CU_LIMIT_NEXT,
  CU_LIMIT_MAX
} CUlimit;
CUresult CUDAAPI cuInit(void);
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr,
                            size_t bytesize);
CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n);
CUresult CUDAAPI cuLimit(CUlimit limit, CUstream hStream);
CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId);
#if defined(__CUDA_API_VERSION_INTERNAL)
typedef unsigned int CUdeviceptr_v1;
CUresult CUDAAPI cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize);
#endif
`);

Deno.test("readCudaHeader() finds functions by exported name, old forms beside new ones", () => {
  assert.deepEqual([...MINIATURE.functions.keys()].sort(), [
    "cuGetExportTable",
    "cuInit",
    "cuLimit",
    "cuMemAlloc",
    "cuMemAlloc_v2",
    "cuMemcpyHtoD_v2",
  ]);
  assert.deepEqual(MINIATURE.functions.get("cuMemAlloc_v2"), {
    parameters: ["CUdeviceptr*", "size_t"],
    names: ["dptr", "bytesize"],
  });
  assert.deepEqual(MINIATURE.functions.get("cuMemAlloc")?.parameters, [
    "CUdeviceptr_v1*",
    "unsigned int",
  ]);
  assert.deepEqual(MINIATURE.functions.get("cuInit"), { parameters: [], names: [] });
});

Deno.test("readCudaHeader() reads enumerators and macros", () => {
  assert.deepEqual(Object.fromEntries(MINIATURE.constants), {
    CU_LIMIT_STACK_SIZE: 0n,
    CU_LIMIT_PRINTF: 16n,
    CU_LIMIT_NEXT: 17n,
    CU_LIMIT_MAX: 18n,
    CU_STREAM_PER_THREAD: 2n,
    CUDA_VERSION: 12040n,
  });
});

Deno.test("foreignTypes() follows type definitions", () => {
  const types = (type: string) => MINIATURE.foreignTypes(type);
  assert.deepEqual(types("CUdeviceptr"), ["u64"]);
  assert.deepEqual(types("CUstream"), ["u64"]);
  assert.deepEqual(types("CUlimit"), ["i32"]);
  assert.deepEqual(types("CUdeviceptr*"), ["buffer", "pointer"]);
  assert.deepEqual(types("void*"), ["buffer", "pointer", "u64"]);
  assert.deepEqual(types("size_t"), ["usize", "u64"]);
  assert.throws(() => types("CUnknown"), /cuda\.h: unknown type CUnknown/);
});
