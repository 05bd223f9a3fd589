/**
 * A plain server on bare `Deno.serve`: no queue, no batching, no policy, no metrics.
 *
 * @module
 */
import * as v2 from "./v2.ts";

const MODEL = /^\/v2\/models\/([^/]+)(\/infer)?$/;
const { port, models } = await v2.open();

Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
  const path = request.url.slice(request.url.indexOf("/", "http://".length));
  if (path === "/v2/health/ready") return new Response();
  if (path === "/v2") return Response.json(v2.SERVER_METADATA);
  const [, name, infer] = MODEL.exec(path) ?? [];
  const session = name === undefined ? undefined : models.get(name);
  if (name === undefined || session === undefined) return refuse(404, `Nothing at ${path}`);
  if (infer === undefined) return Response.json(v2.modelMetadata(name, session));
  try {
    const decoded = await read(request);
    const answer = v2.encode(name, decoded, await session.run(decoded.inputs));
    if ("json" in answer) return Response.json(answer.json);
    return new Response(answer.body, {
      headers: {
        "content-type": "application/octet-stream",
        "inference-header-content-length": String(answer.headerLength),
      },
    });
  } catch (error) {
    const bad = error instanceof v2.BadRequest || error instanceof SyntaxError;
    return refuse(bad ? 400 : 500, error instanceof Error ? error.message : String(error));
  }
});

async function read(request: Request): Promise<v2.InferRequest> {
  const length = request.headers.get("inference-header-content-length");
  if (length === null) return v2.decode(await request.json());
  return v2.decodeBinary(new Uint8Array(await request.arrayBuffer()), Number(length));
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
