/**
 * A plain server on bare `Deno.serve`: no queue, no batching, no policy, no metrics.
 *
 * @module
 */
import { BadRequest, decode, decodeBinary, encode, type InferRequest, open } from "./v2.ts";

const INFER = /^\/v2\/models\/([^/]+)\/infer$/;
const { port, models } = await open();

Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
  const path = request.url.slice(request.url.indexOf("/", "http://".length));
  if (path === "/v2/health/ready") return new Response();
  const name = INFER.exec(path)?.[1];
  const session = name === undefined ? undefined : models.get(name);
  if (name === undefined || session === undefined) return refuse(404, `Nothing at ${path}`);
  try {
    const decoded = await read(request);
    const answer = encode(name, decoded, await session.run(decoded.inputs));
    if ("json" in answer) return Response.json(answer.json);
    return new Response(answer.body, {
      headers: {
        "content-type": "application/octet-stream",
        "inference-header-content-length": String(answer.headerLength),
      },
    });
  } catch (error) {
    const bad = error instanceof BadRequest || error instanceof SyntaxError;
    return refuse(bad ? 400 : 500, error instanceof Error ? error.message : String(error));
  }
});

async function read(request: Request): Promise<InferRequest> {
  const length = request.headers.get("inference-header-content-length");
  if (length === null) return decode(await request.json());
  return decodeBinary(new Uint8Array(await request.arrayBuffer()), Number(length));
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
