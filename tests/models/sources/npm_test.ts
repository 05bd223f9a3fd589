import assert from "node:assert/strict";
import { join } from "node:path";
import { fetchPath, fetchSource } from "../../../models/sources/fetch.ts";
import { npmRegistry, type RegistryOptions } from "../../fixtures/npm_registry.ts";
import { scaleModel } from "../../fixtures/onnx.ts";
import { repositoryWith, type TemporaryFolder, writeFiles } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

const FILES = {
  "weights/scale.onnx": scaleModel(),
  "weights/other.onnx": scaleModel(3),
  "keys.txt": new TextEncoder().encode("a\nb\n"),
};

/** A home with an `.npmrc`, seen by nothing else of this machine's settings. */
async function homeWith(npmrc: string): Promise<TemporaryFolder & { env: Record<string, string> }> {
  const folder = await repositoryWith({});
  await writeFiles(folder.path, { "home/.npmrc": npmrc, "global/.keep": "" });
  const env = {
    HOME: join(folder.path, "home"),
    PREFIX: join(folder.path, "global"),
    npm_config_cache: join(folder.path, "cache"),
    npm_config_fetch_retries: "0",
  };
  return { ...folder, env };
}

async function withRegistry(
  options: Omit<RegistryOptions, "files">,
  npmrc: (registry: string) => string,
  body: (environment: Record<string, string>) => Promise<void>,
) {
  await using registry = npmRegistry({ files: FILES, ...options });
  await using home = await homeWith(npmrc(registry.url));
  await body(home.env);
}

const REGISTRY = (url: string) => `registry=${url}\n`;

Deno.test("fetchSource() finds a model in a package, with and without its ending", async () => {
  await withRegistry({}, REGISTRY, async (environment) => {
    let path = "";
    for (const name of ["weights/scale.onnx", "weights/scale"]) {
      await using fetched = await fetchSource(`npm:models@1.0.0/${name}`, { environment });
      path = fetched.versions[0].files.get("model.onnx")!;
      assert.deepEqual(await Deno.readFile(path), FILES["weights/scale.onnx"]);
    }
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    await using keys = await fetchPath("npm:models@^1.0.0/keys.txt", { environment });
    assert.equal(await Deno.readTextFile(keys.path), "a\nb\n");
  });
});

Deno.test("fetchSource() names the models of a package that has not the one asked for", async () => {
  await withRegistry({}, REGISTRY, async (environment) => {
    await assert.rejects(
      fetchSource("npm:models@1.0.0/nope", { environment }),
      refusal("not_found", /no such file. Its models: weights\/other\.onnx, weights\/scale\.onnx$/),
    );
    await assert.rejects(
      fetchSource("npm:models@2.0.0/nope", { environment }),
      refusal("not_found", /^npm package models@2\.0\.0 could not be fetched: /),
    );
    await assert.rejects(
      fetchSource("npm:other@1.0.0/nope", { environment }),
      refusal("not_found", /^npm package other@1\.0\.0 could not be fetched: 404/),
    );
  });
});

Deno.test("fetchSource() refuses an archive that is not the one the registry names", async () => {
  await withRegistry({ tampered: true }, REGISTRY, async (environment) => {
    await assert.rejects(
      fetchSource("npm:models@1.0.0/weights/scale", { environment }),
      refusal("invalid_argument", /could not be fetched: .*integrity/),
    );
  });
});

Deno.test("fetchSource() sends the credentials that .npmrc has for the registry", async () => {
  const npmrc = (url: string) =>
    `registry=${url}\n${url.slice("http:".length)}:_authToken=secret\n`;
  await withRegistry({ token: "secret" }, npmrc, async (environment) => {
    await using fetched = await fetchSource("npm:models@1.0.0/weights/scale", { environment });
    assert.equal(fetched.versions[0].files.size, 1);
  });
  await withRegistry({ token: "secret" }, REGISTRY, async (environment) => {
    await assert.rejects(
      fetchSource("npm:models@1.0.0/weights/scale", { environment }),
      refusal("not_found", /could not be fetched: /),
    );
  });
});

Deno.test("fetchSource() stops fetching a package when it is told to", async () => {
  await withRegistry({}, REGISTRY, async (environment) => {
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(
      fetchSource("npm:models@1.0.0/weights/scale", { environment, signal }),
      /enough/,
    );
  });
});
