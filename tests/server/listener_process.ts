/** Listens until its standard input ends; prints the port. For tests that bound its file descriptors. */
import { listen } from "../../server/listener.ts";

const listener = listen("127.0.0.1", 0, () => new Response("hello"), console.error);
console.log(listener.port);
for await (const _ of Deno.stdin.readable);
await listener.close(1000);
Deno.exit();
