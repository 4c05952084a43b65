/** The OpenAPI 3.1 document. Request schemas are those that validate requests; tests check the rest. */
import { API_PATHS, type Place, ROOT_PATHS } from '../paths.ts'
import { headersOf, RATE_HEADERS, renderHeaders } from './headers.ts'
import { type Operation, renderOperation, renderRefusal } from './operation.ts'
import { API_OPERATIONS, ROOT_OPERATIONS } from './operations.ts'
import { renderParameters } from './parameters.ts'
import { renderSchemas } from './schemas.ts'
import { renderWebhooks } from './webhook.ts'

const ABOUT = `One interface to language and image models from several providers. A model is named \`<provider>/<model>\`; text and
images have one operation, \`POST /chat/completions\`, with OpenAI's API: any of OpenAI's client libraries works.

**Paths.** Every path exists under \`/v1\` and under \`/api/v1\`, except for those of the service itself.

**Keys.** \`Authorization: Bearer if-…\`, and nowhere else; under \`/messages\` also \`x-api-key\`, where that header is absent. An ordinary key calls models, a provisioning key manages keys; each
has its own limits. A change or a revocation applies from the next request.

**Limits.** On every answer to a known key, errors included, \`X-RateLimit-*\` says what is left of its windows; a window without
a limit sends nothing. A request limit answers 429 with \`Retry-After\`, a spending ceiling 402.

**Money.** Fields \`*_usd\` are decimal strings, fields \`*_rub\` numbers. A request is charged once, at the price of its model's card.

**Errors.** One shape everywhere but under \`/messages\` and for requests with \`anthropic-version\`, whose errors are Anthropic's; \`error.code\` for programs. An unknown path is 404 \`route_not_found\`, whose message names those that are served; doubled slashes and one at the end are ignored. A method
that a path does not support is 405 \`method_not_allowed\` with \`Allow\`. Every path answers OPTIONS, and HEAD where it answers GET.`

const TAGS = {
  Chat: 'Chat completions, and their receipts',
  Embeddings: 'Vectors of texts',
  Rerank: 'Documents in the order of their relevance',
  Responses: "OpenAI's Responses API",
  Messages: "Anthropic's Messages API",
  Models: 'The catalogue',
  Key: "A key's own limits and spend",
  Keys: 'Managing keys, with a provisioning key',
  Service: 'The process itself; no key needed',
  Events: 'Webhooks that the gateway sends',
} as const

/** @throws Error if a form and its notes do not match */
export function renderDocument(version: string) {
  return {
    openapi: '3.1.1',
    info: {
      title: 'gatewayctl',
      summary: 'A self-hosted gateway to language and image models',
      description: ABOUT,
      version,
    },
    servers: [
      { url: '/v1', description: 'As OpenAI names it' },
      { url: '/api/v1', description: 'As OpenRouter names it; the same' },
    ],
    security: [{ key: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: {
      ...renderPaths(API_PATHS, API_OPERATIONS, {}),
      ...renderPaths(ROOT_PATHS, ROOT_OPERATIONS, { servers: [{ url: '/' }] }),
    },
    webhooks: renderWebhooks(),
    components: {
      schemas: renderSchemas(),
      parameters: renderParameters(),
      headers: renderHeaders(),
      responses: RESPONSES_ELSEWHERE,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A key of the gateway: `if-…`' },
      },
    },
  }
}

/** Responses outside any operation. */
const RESPONSES_ELSEWHERE = {
  Preflight: {
    description: 'OPTIONS, at every address.',
    headers: headersOf([
      'Access-Control-Allow-Methods',
      'Access-Control-Allow-Headers',
      'Access-Control-Max-Age',
      'Vary',
    ]),
  },
  RouteNotFound: renderRefusal(404, ['route_not_found'], RATE_HEADERS),
  MethodNotAllowed: renderRefusal(405, ['method_not_allowed'], RATE_HEADERS),
  WebSocketNotSupported: renderRefusal(426, ['websocket_not_supported'], RATE_HEADERS),
}

function renderPaths<Name extends string>(
  places: Readonly<Record<Name, Place>>,
  operations: Readonly<Record<Name, Operation>>,
  beside: object,
) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, [method, pattern]] of Object.entries<Place>(places)) {
    // What is left of a path is a model's id, in two parts.
    const path = pattern.replace(':id{.+}', '{provider}/{model}').replace(':id', '{id}')
    paths[path] ??= { ...beside }
    paths[path][method.toLowerCase()] = renderOperation(operations[name as Name])
  }
  return paths
}

let kept: { readonly version: string; readonly text: string } | null = null

/** The document as JSON, built at the first request and cached. */
export function documentText(version: string): string {
  if (kept?.version !== version) kept = { version, text: JSON.stringify(renderDocument(version)) }
  return kept.text
}
