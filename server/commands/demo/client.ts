/**
 * A client of the Open Inference Protocol v2, as small as one can be: tensors go and come in the
 * binary extension, so nothing is turned into decimal numbers on the way.
 *
 * @module
 */
import { isDatatype, type Tensor } from "../../../models/tensor.ts";
import { fetchFrom, refusalOf } from "../gateway_client.ts";

const HEADER_LENGTH = "Inference-Header-Content-Length";

interface ResponseHeader {
  outputs: {
    name: string;
    datatype: string;
    shape: number[];
    parameters: { binary_data_size: number };
  }[];
}

/**
 * Runs `model` at the server on these inputs and gives all outputs, in the model's order.
 *
 * @param server The server's address, e.g. `http://127.0.0.1:8000`.
 * @throws {Error} With the server's own message when it refuses.
 */
export async function infer(
  server: string,
  model: string,
  inputs: readonly Tensor[],
  signal?: AbortSignal,
): Promise<Tensor[]> {
  const header = new TextEncoder().encode(JSON.stringify({
    inputs: inputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: data.byteLength },
    })),
    parameters: { binary_data_output: true },
  }));
  const url = new URL(`/v2/models/${encodeURIComponent(model)}/infer`, server);
  const response = await fetchFrom(server, url, {
    method: "POST",
    headers: {
      [HEADER_LENGTH]: String(header.byteLength),
      // Tensors hardly shrink; without this, fetch asks for compressed ones.
      "accept-encoding": "identity",
    },
    body: new Blob([header, ...inputs.map(({ data }) => data)]),
    signal,
  });
  if (!response.ok) throw new Error(`${model}: ${await refusalOf(response)}`);
  const body = new Uint8Array(await response.arrayBuffer());
  return parseOutputs(body, Number(response.headers.get(HEADER_LENGTH) ?? body.byteLength));
}

function parseOutputs(body: Uint8Array<ArrayBuffer>, headerLength: number): Tensor[] {
  const header = new TextDecoder().decode(body.subarray(0, headerLength));
  const { outputs }: ResponseHeader = JSON.parse(header);
  let start = headerLength;
  return outputs.map(({ name, datatype, shape, parameters }) => {
    if (!isDatatype(datatype)) throw new Error(`Output ${name}: unknown datatype ${datatype}`);
    const end = start + parameters.binary_data_size;
    const data = body.subarray(start, end);
    start = end;
    return { name, datatype, shape, data };
  });
}
