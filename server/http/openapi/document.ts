/** The description of this interface as OpenAPI 3.1: its requests are the forms that validate them, the rest is held by tests. */
import { headersOf, RATE_HEADERS, renderHeaders } from './headers.ts'
import { type Operation, renderOperation, renderRefusal } from './operation.ts'
import { API_OPERATIONS, ROOT_OPERATIONS } from './operations.ts'
import { renderParameters } from './parameters.ts'
import { renderSchemas } from './schemas.ts'
import { renderWebhooks } from './webhook.ts'

const ABOUT = `One interface to language and image models from several providers. A model is named \`<provider>/<model>\`; text and
images are asked for in one place, \`POST /chat/completions\`, on OpenAI's wire: any client library of OpenAI's works.

**Addresses.** Every path stands under \`/v1\` and \`/api/v1\` alike, but for those of the service itself.

**Keys.** \`Authorization: Bearer if-…\`, and nowhere else. An ordinary key calls models, a provisioning key manages keys; each
carries its own limits. A change or a revocation holds from the next request.

**Limits.** On every answer to a known key, errors included, \`X-RateLimit-*\` says what is left of its windows; a window without
a limit sends nothing. A limit of requests is 429 with \`Retry-After\`, a ceiling of money 402.

**Money.** Fields \`*_usd\` are decimal strings, fields \`*_rub\` numbers. A request is charged once, at the price of its model's card.

**Errors.** One shape everywhere, \`error.code\` for programs. An address that nobody serves is 404 \`route_not_found\`; a method
that an address does not know is 405 \`method_not_allowed\` with \`Allow\`. OPTIONS is answered at every address, HEAD wherever GET is.`

const TAGS = {
  Chat: 'Asking models, and what it cost',
  Models: 'What may be asked',
  Key: 'What a key may know of itself',
  Keys: 'Managing keys, with a provisioning key',
  Service: 'The process itself; no key needed',
  Events: 'What the gateway sends of its own accord',
} as const

/** @throws Error when a form and its notes disagree */
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
      ...renderPaths(API_OPERATIONS, {}),
      ...renderPaths(ROOT_OPERATIONS, { servers: [{ url: '/' }] }),
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

/** What is answered where no operation is. */
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
}

function renderPaths(operations: readonly Operation[], beside: object) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = paths[operation.path] ?? { ...beside }
    paths[operation.path] = path
    path[operation.method] = renderOperation(operation)
  }
  return paths
}

let kept: { readonly version: string; readonly text: string } | null = null

/** The document as JSON, put together when it is first asked for. */
export function documentText(version: string): string {
  if (kept?.version !== version) kept = { version, text: JSON.stringify(renderDocument(version)) }
  return kept.text
}
