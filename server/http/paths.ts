/** Every operation of the HTTP API, with its method and path. `app.ts` says what answers it, `openapi/operations.ts` what it does. */

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** `:id` is one segment of a path, `:id{.+}` all that is left of it. */
export type Place = readonly [method: Method, path: string]

/** Under every prefix. */
export const API_PATHS = {
  chat: ['POST', '/chat/completions'],
  embeddings: ['POST', '/embeddings'],
  rerank: ['POST', '/rerank'],
  responses: ['POST', '/responses'],
  messages: ['POST', '/messages'],
  'messages.count': ['POST', '/messages/count_tokens'],
  models: ['GET', '/models'],
  model: ['GET', '/models/:id{.+}'],
  key: ['GET', '/key'],
  generation: ['GET', '/generation'],
  'keys.issue': ['POST', '/keys'],
  'keys.list': ['GET', '/keys'],
  'keys.show': ['GET', '/keys/:id'],
  'keys.amend': ['PATCH', '/keys/:id'],
  'keys.revoke': ['DELETE', '/keys/:id'],
} as const satisfies Readonly<Record<string, Place>>

/** Under no prefix. */
export const ROOT_PATHS = {
  root: ['GET', '/'],
  openapi: ['GET', '/openapi.json'],
  healthz: ['GET', '/healthz'],
  readyz: ['GET', '/readyz'],
} as const satisfies Readonly<Record<string, Place>>

/** Where the clients of Anthropic's API ask. */
const MESSAGES_ADDRESS = /^(?:https?:\/\/[^/?#]*)?(?:\/+api)?\/+v1\/+messages(?:[/?#]|$)/i

/** Of a URL that may be malformed. */
export const isMessagesAddress = (url: string): boolean => MESSAGES_ADDRESS.test(url)
