/**
 * Random kernels and what their threads compute: many registers of two widths, written with and
 * without guards, live across branches and loops that threads take differently.
 *
 * @module
 */
import { seededRandom } from "../../../models/random.ts";

const BLOCKS = 12;
const MOST_INSTRUCTIONS = 9;
/** Registers that operands are mostly drawn from, and that make up the result. */
const RECENT = 4;
/** How often a thread may go backwards. */
const FUEL = 12;

/** Values of one thread's registers, by name. */
type Registers = Map<string, bigint>;

/** A kernel's body, and what a thread leaves in `%r0`. */
export interface RandomProgram {
  /** PTX. */
  readonly body: string;
  /** The same, one thread at a time. */
  readonly resultOf: (thread: number) => number;
}

interface Instruction {
  readonly text: string;
  readonly apply: (registers: Registers) => void;
}

/** The block that runs next, if it is not the one behind. */
interface Branch {
  readonly text: string;
  readonly taken: (registers: Registers) => number | undefined;
}

interface Block {
  readonly instructions: readonly Instruction[];
  readonly branch: Branch;
}

const u32 = (value: bigint) => BigInt.asUintN(32, value);
const u64 = (value: bigint) => BigInt.asUintN(64, value);

const OPERATIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  "add.u": (a, b) => a + b,
  "sub.u": (a, b) => a - b,
  "mul.lo.u": (a, b) => a * b,
  "xor.b": (a, b) => a ^ b,
};

/** Draws instructions over registers that are certain to have a value. */
class Generator {
  readonly #random: () => number;
  #registers = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** Mostly one of the newest: registers that are read all over have no other to share a slot with. */
  operand(registers: readonly string[]): string {
    return this.pick(this.below(5) === 0 ? registers : registers.slice(-RECENT));
  }

  /** The numbers below `count` in any order. */
  order(count: number): number[] {
    const keys = Array.from({ length: count }, () => this.#random());
    return [...keys.keys()].sort((a, b) => keys[a] - keys[b]);
  }

  /** Mostly a new register, so that there are many short lives. */
  result(kind: "n" | "w" | "q", defined: Set<string>): string {
    const known = [...defined].filter((name) => name[1] === kind);
    if (known.length > 0 && this.below(4) === 0) return this.operand(known);
    return `%${kind}${this.#registers++}`;
  }

  instruction(defined: Set<string>): Instruction {
    const narrow = [...defined].filter((name) => name[1] === "n");
    const wide = [...defined].filter((name) => name[1] === "w");
    const predicates = [...defined].filter((name) => name[1] === "q");
    // A guarded write gives a value to registers that have one, so that none is unknown.
    const guard = predicates.length > 0 && this.below(4) === 0 ? this.pick(predicates) : undefined;
    const define = (kind: "n" | "w" | "q") => {
      const all = { n: narrow, w: wide, q: predicates }[kind];
      return guard === undefined ? this.result(kind, defined) : this.pick(all);
    };
    const instruction = this.#unguarded(narrow, wide, define);
    if (guard === undefined) return instruction;
    const negated = this.below(2) === 0;
    return {
      text: `@${negated ? "!" : ""}${guard} ${instruction.text}`,
      apply: (registers) => {
        if ((registers.get(guard) === 1n) !== negated) instruction.apply(registers);
      },
    };
  }

  #unguarded(
    narrow: readonly string[],
    wide: readonly string[],
    define: (kind: "n" | "w" | "q") => string,
  ): Instruction {
    const form = this.below(6);
    if (form === 0) {
      const [a, b, to] = [this.operand(narrow), this.operand(narrow), define("q")];
      return {
        text: `setp.lt.u32 ${to}, ${a}, ${b};`,
        apply: (registers) => registers.set(to, registers.get(a)! < registers.get(b)! ? 1n : 0n),
      };
    }
    if (form === 1) {
      const [a, to] = [this.operand(narrow), define("w")];
      return {
        text: `mul.wide.u32 ${to}, ${a}, 2654435761;`,
        apply: (registers) => registers.set(to, u64(registers.get(a)! * 2654435761n)),
      };
    }
    if (form === 2) {
      const [a, to] = [this.operand(wide), define("n")];
      return {
        text: `cvt.u32.u64 ${to}, ${a};`,
        apply: (registers) => registers.set(to, u32(registers.get(a)!)),
      };
    }
    const bits = form === 3 ? 64 : 32;
    const [operation, apply] = this.pick(Object.entries(OPERATIONS));
    const from = bits === 64 ? wide : narrow;
    const [a, b, to] = [this.operand(from), this.operand(from), define(bits === 64 ? "w" : "n")];
    return {
      text: `${operation}${bits} ${to}, ${a}, ${b};`,
      apply: (registers) =>
        registers.set(to, BigInt.asUintN(bits, apply(registers.get(a)!, registers.get(b)!))),
    };
  }

  /** `back`: the blocks that a thread may go back to from here. */
  branch(block: number, defined: Set<string>, back: readonly number[]): Branch {
    const predicate = this.pick([...defined].filter((name) => name[1] === "q"));
    if (this.below(2) === 0) {
      const target = this.pick(back);
      return {
        text: `sub.s32 %fuel, %fuel, 1;
  setp.gt.and.s32 %again, %fuel, 0, ${predicate};
  @%again bra B${target};`,
        taken: (registers) => {
          registers.set("fuel", registers.get("fuel")! - 1n);
          const again = registers.get("fuel")! > 0n && registers.get(predicate) === 1n;
          return again ? target : undefined;
        },
      };
    }
    const target = block + 1 + this.below(BLOCKS - block);
    return {
      text: `@${predicate} bra B${target};`,
      taken: (registers) => registers.get(predicate) === 1n ? target : undefined,
    };
  }
}

/** Makes the program that belongs to a seed. */
export function randomProgram(seed: number): RandomProgram {
  const generator = new Generator(seed);
  const first = new Set(["%n", "%n_t", "%w", "%q"]);
  const blocks: Block[] = [];
  // By block, the registers that have a value whichever way a thread came. Threads go back only where
  // they bring all of them.
  const given: (Set<string> | undefined)[] = [first];
  const reach = (block: number, defined: Set<string>) => {
    given[block] = given[block]?.intersection(defined) ?? new Set(defined);
  };
  for (let block = 0; block < BLOCKS; block++) {
    const defined = new Set(given[block]);
    const instructions = Array.from({ length: 1 + generator.below(MOST_INSTRUCTIONS) }, () => {
      const instruction = generator.instruction(defined);
      const written = /(%[nwq]\w*)[,;]/.exec(instruction.text.replace(/^@!?\S+ /, ""))![1];
      defined.add(written);
      return instruction;
    });
    const back = given.flatMap((needed, at) =>
      at <= block && needed!.isSubsetOf(defined) ? [at] : []
    );
    const branch = generator.branch(block, defined, back);
    const target = Number(/bra B(\d+)/.exec(branch.text)![1]);
    if (target > block) reach(target, defined);
    reach(block + 1, defined);
    blocks.push({ instructions, branch });
  }
  const last = [...given[BLOCKS]!].slice(-RECENT);
  const order = generator.order(BLOCKS);
  return { body: textOf(blocks, order, last), resultOf: (thread) => compute(blocks, last, thread) };
}

/** Blocks stand in any order, so that a register may be read above where it is written. */
function textOf(
  blocks: readonly Block[],
  order: readonly number[],
  last: readonly string[],
): string {
  const code = order.map((index) => {
    const { instructions, branch } = blocks[index];
    const lines = [...instructions.map(({ text }) => text), branch.text, `bra B${index + 1};`];
    return [`B${index}:`, ...lines].join("\n  ");
  }).join("\n");
  const names = new Set(code.match(/%[nwq]\d+/g) ?? []);
  const declared = (kind: string) =>
    ["", ...[...names].filter((name) => name[1] === kind)].join(", ");
  const sums = last.map((name) => {
    const value = { n: `mov.u32 %r1, ${name};`, w: `cvt.u32.u64 %r1, ${name};` }[name[1]] ??
      `selp.u32 %r1, 1, 0, ${name};`;
    return `${value}\n  mad.lo.u32 %r0, %r0, 31, %r1;`;
  });
  return `
  .reg .b32 %n, %n_t, %fuel${declared("n")};
  .reg .b64 %w${declared("w")};
  .reg .pred %q, %again${declared("q")};
  mov.u32 %fuel, ${FUEL};
  mov.u32 %n, 77;
  mul.lo.u32 %n_t, %t, 40503;
  mov.u64 %w, 0x123456789;
  setp.lt.u32 %q, %t, 13;
  bra B0;
${code}
B${BLOCKS}:
  mov.u32 %r0, 0;
  ${sums.join("\n  ")}`;
}

function compute(blocks: readonly Block[], last: readonly string[], thread: number): number {
  const registers: Registers = new Map([
    ["fuel", BigInt(FUEL)],
    ["%n", 77n],
    ["%n_t", u32(BigInt(thread) * 40503n)],
    ["%w", 0x123456789n],
    ["%q", thread < 13 ? 1n : 0n],
  ]);
  for (let block = 0; block < BLOCKS;) {
    const { instructions, branch } = blocks[block];
    for (const { apply } of instructions) apply(registers);
    block = branch.taken(registers) ?? block + 1;
  }
  return Number(last.reduce((sum, name) => u32(sum * 31n + u32(registers.get(name)!)), 0n));
}
