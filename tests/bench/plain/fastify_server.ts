/**
 * A plain server on fastify, run by Node: no queue, no batching, no policy, no metrics.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import fastify from "fastify";
import * as v2 from "./v2.ts";

const { port, models } = await v2.open();
const app = fastify({ bodyLimit: 64 << 20 });

app.addContentTypeParser(
  "application/octet-stream",
  { parseAs: "buffer" },
  (_request, body, done) => done(null, body),
);
app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
  const status = error instanceof v2.BadRequest ? 400 : error.statusCode ?? 500;
  return reply.code(status).send({ error: error.message });
});

app.get("/v2/health/ready", () => "");
app.get("/v2", () => v2.SERVER_METADATA);
app.get<{ Params: { name: string } }>("/v2/models/:name", (request, reply) => {
  const { name } = request.params;
  const session = models.get(name);
  if (session === undefined) return reply.code(404).send({ error: `No model ${name}` });
  return reply.send(v2.modelMetadata(name, session));
});

app.post<{ Params: { name: string }; Body: Buffer<ArrayBuffer> | v2.InferJson }>(
  "/v2/models/:name/infer",
  async (request, reply) => {
    const { name } = request.params;
    const session = models.get(name);
    if (session === undefined) return reply.code(404).send({ error: `No model ${name}` });
    const { body, headers } = request;
    const decoded = Buffer.isBuffer(body)
      ? v2.decodeBinary(body, Number(headers["inference-header-content-length"]))
      : v2.decode(body as v2.InferJson);
    const answer = v2.encode(name, decoded, await session.run(decoded.inputs));
    if ("json" in answer) return answer.json;
    return reply
      .header("inference-header-content-length", answer.headerLength)
      .type("application/octet-stream")
      .send(Buffer.from(answer.body.buffer));
  },
);

await app.listen({ host: "127.0.0.1", port });
