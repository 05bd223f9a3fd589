/**
 * Which models are loaded, loading, leaving or broken. Loading and unloading of one model happen one
 * after another; a reload puts the new version in place before the old one leaves.
 *
 * @module
 */
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { Model, ModelOverride, Repository } from "../../models/model.ts";
import type { IndexRow, ModelState } from "./api.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { Residency } from "./residency.ts";

/** One model by name, with all its versions. */
interface Entry {
  readonly versions: Map<number, LoadedModel>;
  /** Versions on their way out: no new requests, the queued ones are being answered. */
  readonly leaving: Set<LoadedModel>;
  /** What the last load carried; a plain load keeps it, as Triton does. */
  override?: ModelOverride;
  /** While nothing is ready: what is going on. */
  state: ModelState;
  reason?: string;
  /** Versions that the state speaks of, when none is ready. */
  lastVersions: readonly number[];
}

/** Where the table's news goes, a line each. */
export interface ModelNews {
  /** Told of loads that fail. */
  report(message: string): void;
  /** Told of models that come and go. */
  announce(message: string): void;
}

/** All models by name. */
export class ModelTable {
  readonly #entries = new Map<string, Entry>();
  /** The end of each model's line of loads and unloads: by name, as a new model has no entry yet. */
  readonly #lines = new Map<string, Promise<void>>();
  readonly #repository: Repository;
  readonly #residency: Residency;
  readonly #news: ModelNews;

  /** Knows nothing until the first {@linkcode load}. */
  constructor(repository: Repository, residency: Residency, news: ModelNews) {
    this.#repository = repository;
    this.#residency = residency;
    this.#news = news;
  }

  /**
   * The ready version of that number, or the newest when none is named.
   *
   * @throws {SluiceError} `not_found`, or `not_ready` when the model is known but not loaded.
   */
  find(name: string, version?: string): LoadedModel {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw unknownModel(name, version);
    if (version !== undefined) {
      const loaded = entry.versions.get(Number(version));
      if (loaded !== undefined) return loaded;
      if (entry.versions.size > 0) throw unknownModel(name, version);
    } else {
      let newest: LoadedModel | undefined;
      for (const loaded of entry.versions.values()) {
        if (newest === undefined || loaded.model.version > newest.model.version) newest = loaded;
      }
      if (newest !== undefined) return newest;
    }
    throw notReady(name, entry);
  }

  /** Ready versions of a model, ascending. */
  versions(name: string): LoadedModel[] {
    const versions = this.#entries.get(name)?.versions.values() ?? [];
    return [...versions].sort((a, b) => a.model.version - b.model.version);
  }

  /** Every ready version, by name, then by version. */
  served(): LoadedModel[] {
    return [...this.#entries.keys()].sort().flatMap((name) => this.versions(name));
  }

  /** Reasons of the models that should be ready and are not. */
  broken(): string[] {
    const reasons: string[] = [];
    for (const [name, entry] of this.#entries) {
      if (entry.versions.size === 0 && entry.reason !== undefined && entry.reason !== UNLOADED) {
        reasons.push(`model '${name}' is not ready: ${entry.reason}`);
      }
    }
    return reasons;
  }

  /**
   * All that the repository lists or the table knows, by name. A version on its way out is not shown
   * beside the one that replaces it.
   */
  async index(): Promise<IndexRow[]> {
    const names = new Set([...await this.#repository.list(), ...this.#entries.keys()]);
    const rows: IndexRow[] = [];
    for (const name of [...names].sort()) {
      const entry = this.#entries.get(name);
      if (entry === undefined) {
        rows.push({ name, version: "", state: "" });
        continue;
      }
      const ready = this.versions(name);
      for (const { model } of ready) {
        rows.push({ name, version: `${model.version}`, state: "READY" });
      }
      for (const { model } of entry.leaving) {
        if (!entry.versions.has(model.version)) {
          rows.push({ name, version: `${model.version}`, state: "UNLOADING" });
        }
      }
      if (ready.length > 0 || entry.leaving.size > 0) continue;
      const { state, reason } = entry;
      for (const version of entry.lastVersions.length > 0 ? entry.lastVersions : [""]) {
        rows.push({ name, version: `${version}`, state, reason });
      }
    }
    return rows;
  }

  /**
   * Brings the table in line with what the repository has now. Versions whose content is unchanged
   * stay as they are; when any of the others does not load, nothing changes.
   *
   * @throws {SluiceError} `not_found`, `invalid_argument`, `out_of_memory`.
   */
  load(name: string, override?: ModelOverride): Promise<void> {
    return this.#inLine(name, () => this.#load(name, override));
  }

  async #load(name: string, given?: ModelOverride): Promise<void> {
    const known = this.#entries.get(name);
    const entry = known ?? newEntry();
    const override = given ?? entry.override;
    const fresh: LoadedModel[] = [];
    try {
      const models = await this.#repository.read(name, override);
      this.#entries.set(name, entry);
      entry.lastVersions = models.map((model) => model.version);
      if (entry.versions.size === 0) entry.state = "LOADING";
      entry.reason = undefined;
      for (const model of models) {
        if (entry.versions.get(model.version)?.model.fingerprint === model.fingerprint) continue;
        fresh.push(await this.#residency.load(model));
      }
      entry.override = override;
      this.#replace(entry, models, fresh);
    } catch (cause) {
      const error = toSluiceError(cause);
      for (const loaded of fresh) await this.#residency.unload(loaded);
      if (entry.versions.size === 0) {
        entry.state = "UNAVAILABLE";
        entry.reason = error.message;
        // Else every name that somebody makes up for an upload would stay.
        if (known !== undefined || await this.#isInRepository(name)) this.#entries.set(name, entry);
        else this.#entries.delete(name);
      }
      const left = this.versions(name).map(({ model }) => model.version).join(", ");
      const serving = left === "" ? "" : `; as before, version ${left} serves`;
      this.#news.report(`Model '${name}' was not loaded: ${error.message}${serving}`);
      throw error;
    }
  }

  async #isInRepository(name: string): Promise<boolean> {
    try {
      return (await this.#repository.list()).includes(name);
    } catch {
      return false; // the load has failed for a reason of its own
    }
  }

  /** The new versions take over, then those that are not wanted any more leave. */
  #replace(entry: Entry, models: readonly Model[], fresh: readonly LoadedModel[]): void {
    const leaving: LoadedModel[] = [];
    for (const loaded of fresh) {
      const { version } = loaded.model;
      const old = entry.versions.get(version);
      entry.versions.set(version, loaded);
      this.#residency.admit(loaded);
      const millis = Math.round(loaded.loadMicros / 1000);
      this.#news.announce(
        `Loaded model '${loaded.label}'${old === undefined ? "" : " anew"}: ` +
          `${loaded.persistentBytes} bytes, ${millis} ms`,
      );
      if (old !== undefined) {
        old.successor = loaded;
        leaving.push(old);
      }
    }
    const wanted = new Set(models.map((model) => model.version));
    for (const [version, loaded] of entry.versions) {
      if (wanted.has(version)) continue;
      entry.versions.delete(version);
      loaded.successor = entry.versions.get(Math.max(...wanted));
      leaving.push(loaded);
    }
    for (const loaded of leaving) void this.#retire(entry, loaded);
  }

  /** Stops taking requests at once; resolves when all are answered and the memory is back. */
  unload(name: string): Promise<void> {
    return this.#inLine(name, async () => {
      const entry = this.#entries.get(name);
      if (entry === undefined) return;
      const leaving = [...entry.versions.values()];
      entry.versions.clear();
      entry.override = undefined;
      entry.state = "UNAVAILABLE";
      entry.reason = UNLOADED;
      await Promise.all(leaving.map((loaded) => this.#retire(entry, loaded)));
    });
  }

  async #retire(entry: Entry, loaded: LoadedModel): Promise<void> {
    loaded.state = "UNLOADING";
    entry.leaving.add(loaded);
    await this.#residency.retire(loaded);
    loaded.state = "UNAVAILABLE";
    entry.leaving.delete(loaded);
    const which = loaded.successor === undefined ? "model" : "replaced model";
    this.#news.announce(`Unloaded ${which} '${loaded.label}': ${loaded.persistentBytes} bytes`);
  }

  #inLine(name: string, act: () => Promise<void>): Promise<void> {
    const done = (this.#lines.get(name) ?? Promise.resolve()).then(act);
    const end = done.catch(() => {}).then(() => {
      if (this.#lines.get(name) === end) this.#lines.delete(name);
    });
    this.#lines.set(name, end);
    return done;
  }
}

const UNLOADED = "unloaded";

function newEntry(): Entry {
  return {
    versions: new Map(),
    leaving: new Set(),
    state: "LOADING",
    lastVersions: [],
  };
}

function unknownModel(name: string, version?: string): SluiceError {
  const which = version === undefined ? "" : ` version ${version}`;
  return new SluiceError("not_found", `Request for unknown model: '${name}'${which} is not found`);
}

function notReady(name: string, entry: Entry): SluiceError {
  const why = entry.reason === undefined ? `it is ${entry.state.toLowerCase()}` : entry.reason;
  return new SluiceError("not_ready", `Model '${name}' is not ready: ${why}`);
}
