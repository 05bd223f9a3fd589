/**
 * `/openapi.json`, and `/docs`: Swagger UI over it, from the package on this machine.
 *
 * @module
 */
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./router.ts";
import { jsonBody } from "./status.ts";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice: HTTP API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api" });\n`;

/** Files of the package that the page needs; nothing else of it is served. */
const FILES = [
  { name: "swagger-ui.css", type: "text/css" },
  { name: "swagger-ui-bundle.js", type: "text/javascript" },
];

const SECURITY = {
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

/** The routes. */
export function docsRoutes(): Route[] {
  return [
    get("/openapi.json", () => jsonBody(openApiDocument())),
    get("/docs", () => page(PAGE, "text/html; charset=utf-8")),
    get("/docs/start.js", () => page(START, "text/javascript")),
    ...FILES.map(({ name, type }) => {
      let content: Promise<Uint8Array<ArrayBuffer>> | undefined;
      return get(`/docs/${name}`, async () => {
        content ??= Deno.readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
        return page(await content, type);
      });
    }),
  ];
}

function get(path: string, handle: Route["handle"]): Route {
  return { methods: ["GET"], path, handle };
}

function page(body: BodyInit, contentType: string): Response {
  return new Response(body, { headers: { "content-type": contentType, ...SECURITY } });
}
