/**
 * A gateway whose jobs a test steps itself, at a port of this machine.
 *
 * @module
 */
import { listen } from "../../../server/listener.ts";
import { Descent } from "../jobs/descent.ts";
import { testApp } from "../protocols/exchange.ts";

/** It, while it listens. */
export interface JobGateway extends AsyncDisposable {
  readonly url: string;
  readonly descent: Descent;
  /** Called before every answer to a look at a single job. */
  onLook: () => void;
}

/** Opens one with the model `descent`. */
export function jobGateway(): JobGateway {
  const descent = new Descent();
  const app = testApp({ engine: descent.engine, jobs: descent.jobs });
  const listener = listen("127.0.0.1", 0, (request, info) => {
    if (/^GET .*\/v2\/jobs\/\w+$/.test(`${request.method} ${request.url}`)) gateway.onLook();
    return app(request, info);
  });
  const gateway: JobGateway = {
    url: listener.url,
    descent,
    onLook: () => {},
    async [Symbol.asyncDispose]() {
      await listener.close(5000);
      await app[Symbol.asyncDispose]();
    },
  };
  return gateway;
}
