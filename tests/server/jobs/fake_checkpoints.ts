/**
 * Checkpoints in memory, for tests of jobs.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { CheckpointStore, JobOrigin, StoredVersion } from "../../../models/model.ts";

/** A store of one model's versions; tests may make writing slow, or fail. */
export class FakeCheckpoints implements CheckpointStore {
  /** From version 1 on. */
  readonly versions: StoredVersion[] = [];
  /** Called before every write. */
  beforeAdd: () => Promise<void> = () => Promise.resolve();

  /** With a first version that no job wrote. */
  constructor(readonly model: string, template: Uint8Array<ArrayBuffer>) {
    this.versions.push({ version: 1, bytes: template });
  }

  async add(_model: string, bytes: Uint8Array<ArrayBuffer>, job: JobOrigin): Promise<number> {
    await this.beforeAdd();
    const version = this.versions.length + 1;
    this.versions.push({ version, bytes, job });
    return version;
  }

  checkWritable = (): Promise<void> => Promise.resolve();

  read(model: string, which?: number): Promise<StoredVersion> {
    const found = this.versions.findLast(({ version }) =>
      model === this.model && (which === undefined || which === version)
    );
    if (found !== undefined) return Promise.resolve(found);
    const label = which === undefined ? model : `${model}/${which}`;
    return Promise.reject(new SluiceError("not_found", `There is no ${label}`));
  }
}

/** A store without models. */
export const NO_CHECKPOINTS: CheckpointStore = new FakeCheckpoints("", new Uint8Array());
