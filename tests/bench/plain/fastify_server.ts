/**
 * A plain server on fastify, run by Node: no queue, no batching, no policy, no metrics.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import fastify from "fastify";
import { BadRequest, decode, decodeBinary, encode, type InferJson, open } from "./v2.ts";

const { port, models } = await open();
const app = fastify({ bodyLimit: 64 << 20 });

app.addContentTypeParser(
  "application/octet-stream",
  { parseAs: "buffer" },
  (_request, body, done) => done(null, body),
);
app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
  const status = error instanceof BadRequest ? 400 : error.statusCode ?? 500;
  return reply.code(status).send({ error: error.message });
});

app.get("/v2/health/ready", () => "");

app.post<{ Params: { name: string }; Body: Buffer<ArrayBuffer> | InferJson }>(
  "/v2/models/:name/infer",
  async (request, reply) => {
    const { name } = request.params;
    const session = models.get(name);
    if (session === undefined) return reply.code(404).send({ error: `No model ${name}` });
    const { body, headers } = request;
    const decoded = Buffer.isBuffer(body)
      ? decodeBinary(body, Number(headers["inference-header-content-length"]))
      : decode(body as InferJson);
    const answer = encode(name, decoded, await session.run(decoded.inputs));
    if ("json" in answer) return answer.json;
    return reply
      .header("inference-header-content-length", answer.headerLength)
      .type("application/octet-stream")
      .send(Buffer.from(answer.body.buffer));
  },
);

await app.listen({ host: "127.0.0.1", port });
