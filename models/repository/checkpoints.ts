/**
 * Checkpoints of jobs: versions of a model that come one after another while a job runs.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { CheckpointStore, JobOrigin, StoredVersion } from "../model.ts";
import type { FileRepository } from "../repository.ts";
import { FilesOnDisk, versionsIn } from "./model_files.ts";
import { checkModelName } from "./names.ts";
import { readSettings } from "./read_settings.ts";
import { checkWritable, rootOf } from "./store.ts";

/** Checkpoints in a repository's folder. */
export class FileCheckpoints implements CheckpointStore {
  readonly #repository: FileRepository;
  /** The end of the line: jobs of one model would take the same version at once. */
  #last: Promise<unknown> = Promise.resolve();

  /** Nothing is read before the first call. */
  constructor(repository: FileRepository) {
    this.#repository = repository;
  }

  async checkWritable(): Promise<void> {
    await checkWritable(await rootOf(this.#repository.folder));
  }

  /** Written and checked as a registration is. */
  add(
    model: string,
    bytes: Uint8Array<ArrayBuffer>,
    job: JobOrigin,
    keep: number,
  ): Promise<number> {
    const done = this.#last.then(() => this.#add(model, bytes, job, keep));
    this.#last = done.catch(() => {});
    return done;
  }

  async #add(
    name: string,
    bytes: Uint8Array<ArrayBuffer>,
    job: JobOrigin,
    keep: number,
  ): Promise<number> {
    const { fileName } = await this.#model(name);
    const install = () =>
      this.#repository.install({
        name,
        versions: [{ files: new Map([[fileName, bytes]]) }],
        source: `job ${job.id}, iteration ${job.iterations}`,
        job,
      });
    const [version] = await install().catch((error) => {
      if (!(error instanceof SluiceError) || error.code !== "conflict") throw error;
      return install(); // another process has taken the version: the next one
    });
    await this.#removeOld(name, job.id, keep);
    return version;
  }

  async #removeOld(name: string, job: string, keep: number): Promise<void> {
    try {
      const { versions, records } = await this.#model(name);
      const written = versions.filter((version) => records[version]?.job?.id === job);
      for (const old of written.slice(0, -keep)) await this.#repository.remove(name, old);
    } catch {
      // Somebody else writes, or the disk is full: the next checkpoint takes them away too.
    }
  }

  /** External data are not read. */
  async read(name: string, which?: number): Promise<StoredVersion> {
    const { files, versions, records, fileName } = await this.#model(name);
    const version = which ?? versions.at(-1)!;
    if (!versions.includes(version)) {
      throw new SluiceError(
        "not_found",
        `Model "${name}" has no version ${version}; it has ${versions.join(", ")}`,
      );
    }
    const path = `${version}/${fileName}`;
    const entry = await files.entry(path);
    if (entry === undefined) {
      throw new SluiceError("invalid_argument", `${files.describe(path)} is missing`);
    }
    const { job } = records[version] ?? {};
    return { version, bytes: await files.read(entry), ...(job && { job }) };
  }

  /** What there is of a model now: at least one version. */
  async #model(name: string) {
    checkModelName(name);
    const files = new FilesOnDisk(await rootOf(this.#repository.folder), name);
    const { versions } = await versionsIn(files);
    if (versions.length === 0) {
      throw new SluiceError("not_found", `There is no model "${name}" in the repository`);
    }
    const { manifest, fileName } = await readSettings(name, files, { warn() {} });
    return { files, versions, records: manifest.versions ?? {}, fileName };
  }
}
