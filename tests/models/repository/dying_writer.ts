/**
 * Changes a repository and kills itself with SIGKILL just before its n-th change of the disk. A
 * program of its own, started by `atomicity_test.ts`.
 *
 * @module
 */
import { FileRepository } from "../../../models/repository.ts";
import { CHANGES } from "./changes.ts";

const [folder, change, dieAt] = Deno.args;
let left = Number(dieAt);

function dyingBefore(target: object, name: string): void {
  const original = Reflect.get(target, name) as (...args: unknown[]) => unknown;
  const replaced = function (this: unknown, ...args: unknown[]) {
    if (--left === 0) Deno.kill(Deno.pid, "SIGKILL");
    return Reflect.apply(original, this, args);
  };
  Object.defineProperty(target, name, { value: replaced });
}

for (const name of ["mkdir", "open", "rename", "remove"]) dyingBefore(Deno, name);
for (const name of ["write", "truncate", "sync"]) dyingBefore(Deno.FsFile.prototype, name);

await CHANGES[change].make(new FileRepository(folder));
