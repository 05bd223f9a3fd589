/**
 * What all commands share: parsing by commander, one-line errors, exit codes.
 *
 * @module
 */
import * as commander from "commander";
import { messageOf, SluiceError } from "../../models/errors.ts";
import { type Io, processIo } from "./io.ts";

/** A command while it is being defined and once it is parsed: commander's. */
export type Command = commander.Command;

/** Exit codes of every command. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** Not done; the error says why. */
  failed: 1,
  /** Wrong flags, arguments or settings: nothing was tried. */
  usage: 2,
} as const;

/** A command: arguments in, exit code out. Ends no process and catches every error. */
export type Run = (argv: readonly string[], io: Io) => Promise<number>;

/** Flags, arguments or settings that cannot be meant. */
export class UsageError extends Error {
  /** Tells it from other errors. */
  override readonly name = "UsageError";
}

/** What reading flags and settings gives; its errors become a {@linkcode UsageError}. */
export async function usage<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new UsageError(messageOf(cause), { cause });
  }
}

/**
 * A flag's value as a whole number from 1 on.
 *
 * @throws {UsageError} When it is none.
 */
export function wholeNumber(flag: string, text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`${flag} is "${text}"; expected a whole number, 1 or more`);
}

/**
 * Makes a command runnable.
 *
 * @param name The task's name, e.g. `start`.
 * @param define Adds description, arguments and flags.
 * @param act What it does; gets the parsed command and gives the exit code.
 */
export function defineCommand(
  name: string,
  define: (command: Command) => Command,
  act: (command: Command, io: Io) => Promise<number>,
): Run {
  return async (argv, io) => {
    const command = define(new commander.Command(`deno task ${name}`))
      .helpOption("-h, --help", "Show this.")
      .allowExcessArguments(false)
      .showSuggestionAfterError()
      .exitOverride()
      .configureOutput({
        writeOut: io.out,
        writeErr: io.err,
        outputError: () => {}, // the error thrown carries the same message
        getOutHelpWidth: () => io.columns,
        getErrHelpWidth: () => io.columns,
        getOutHasColors: () => false,
        getErrHasColors: () => false,
      });
    try {
      command.parse(argv, { from: "user" });
      return await act(command, io);
    } catch (error) {
      if (error instanceof commander.CommanderError && error.exitCode === 0) return EXIT.ok;
      io.err(`Error: ${explain(error)}\n`);
      return error instanceof commander.CommanderError || error instanceof UsageError
        ? EXIT.usage
        : EXIT.failed;
    }
  };
}

/** Runs a command as this process and ends with its exit code. */
export async function runAsProcess(run: Run): Promise<never> {
  Deno.exit(await run(Deno.args, processIo()));
}

/** An error in one line, without a stack. */
function explain(error: unknown): string {
  if (error instanceof commander.CommanderError) {
    const [first, ...suggestion] = error.message.replace(/^error: /, "").split("\n");
    return [first.charAt(0).toUpperCase() + first.slice(1), ...suggestion].join(" ");
  }
  const line = messageOf(error).trim().replaceAll(/\s*\n\s*/g, " ");
  if (error instanceof Deno.errors.NotCapable) {
    return `${line}; this task runs without that permission, see docs/operations.md`;
  }
  return error instanceof SluiceError && error.code === "internal" ? `Internal: ${line}` : line;
}
