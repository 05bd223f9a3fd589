/**
 * The Worker behind {@linkcode CodecPool}. Needs no permission.
 *
 * @module
 */
import { toSluiceError } from "../../../models/errors.ts";
import type { CodecAnswer, CodecJob } from "./codec_pool.ts";
import { compress, decompress } from "../compression.ts";
import { parseFields } from "../json_body.ts";
import { decodeLoadRequest } from "./repository_requests.ts";
import { decodeRequest } from "./request.ts";
import { encodeResponse } from "./response.ts";
import { leaveSlab } from "./slab.ts";

/** The part of a Worker's global scope that is used. */
declare const self: {
  onmessage: (event: MessageEvent<CodecJob>) => void;
  postMessage(answer: CodecAnswer, transfer: ArrayBuffer[]): void;
};

self.onmessage = ({ data }) => {
  const transfer = new Set<ArrayBuffer>();
  self.postMessage(answer(data, transfer), [...transfer]);
};

function answer(job: CodecJob, transfer: Set<ArrayBuffer>): CodecAnswer {
  try {
    if (job.kind === "decode") {
      const request = decodeRequest(job.body, job.jsonBytes, job.known);
      leaveSlab();
      for (const { data } of request.inputs) transfer.add(data.buffer);
      return { kind: "decoded", request };
    }
    if (job.kind === "load") {
      const override = decodeLoadRequest(parseFields(job.body));
      for (const { buffer } of override?.files?.values() ?? []) transfer.add(buffer);
      return { kind: "override", override };
    }
    if (job.kind === "compress" || job.kind === "decompress") {
      const bytes = job.kind === "compress"
        ? compress(job.coding, job.body)
        : decompress(job.coding, job.body, job.maxBytes);
      transfer.add(bytes.buffer);
      return { kind: "bytes", bytes };
    }
    const response = encodeResponse(job.head, job.outputs);
    leaveSlab();
    const body = typeof response.body === "string"
      ? new TextEncoder().encode(response.body)
      : response.body;
    transfer.add(body.buffer);
    return { kind: "encoded", response: { ...response, body } };
  } catch (fault) {
    const { code, message } = toSluiceError(fault);
    return { kind: "failed", code, message };
  }
}
